"""Tests of the choice of the parser."""

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.parsers import recognition
from tenure.sources.parsers.parse import make_title, parse_file
from tests.sources.packages import make_epub, make_pptx
from tests.sources.parsers.formats.test_docx import make_docx
from tests.sources.parsers.formats.test_feed import RSS
from tests.sources.parsers.formats.test_html import PAGE
from tests.sources.parsers.formats.test_notebook import CELLS
from tests.sources.pdfs import make_pdf
from tests.support.tiers import slow


def _parse(tmp_path: Path, name: str, content: bytes | str) -> Document:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return parse_file(path)


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.md", "# T\n\n*x*", "# T\n\nx"),
        ("a.RST", "T\n=\n\n*x*", "# T\n\nx"),
        ("a.txt", "*x*", "*x*"),
        ("a.csv", "x,y", "| x | y |"),
        ("a.tsv", "x\ty", "| x | y |"),
        ("a.log", "x\ny", "x\ny"),
        ("a.html", "<p>x y z</p>", "x y z"),
        ("a.ipynb", '{"cells": [{"cell_type": "markdown", "source": "x"}]}', "x"),
        ("a.atom", "<feed><title>x</title></feed>", "# x"),
        ("a.xml", "<?xml version='1.0'?><!-- a --><rss><channel><title>x</title></channel></rss>", "# x"),
        ("a.pdf", make_pdf([["x"]]), "x"),
        ("page", "<!DOCTYPE html><html><body><p>x y z</p></body></html>", "x y z"),
        ("paper", make_pdf([["x"]]), "x"),
        ("notes", "x", "x"),
    ],
)
def test_the_suffix_decides_and_else_the_content(tmp_path: Path, name: str, content: bytes | str, text: str) -> None:
    """Each format is recognized by its suffix or its content."""
    document = _parse(tmp_path, name, content)

    assert (document.text, document.kind) == (text, "prose")


def test_packages_are_recognized_without_their_suffix(tmp_path: Path) -> None:
    """Word documents, presentations and books are recognized by the members of the package."""
    assert _parse(tmp_path, "report", make_docx()).title == "A report"
    assert _parse(tmp_path, "talk", make_pptx()).title == "A talk"
    assert _parse(tmp_path, "novel", make_epub()).title == "A book"


@pytest.mark.parametrize("name", ["a.py", "Makefile", "a.yaml", "Dockerfile"])
def test_code_is_unchanged(tmp_path: Path, name: str) -> None:
    """Code keeps indentation, tabs and blank lines, and its file name is its title."""
    document = _parse(tmp_path, name, "\ufeffif x:\r\n\ty()  \r\n\r\n\r\nz\r\n")

    assert document == Document(title=name, text="if x:\n\ty()\n\n\nz", kind="code")


def test_a_script_is_recognized_by_its_first_line(tmp_path: Path) -> None:
    """A file without a suffix that names an interpreter is code."""
    assert _parse(tmp_path, "run", "#!/bin/sh\necho 1\n").kind == "code"


def test_the_file_name_is_the_title_without_another(tmp_path: Path) -> None:
    """Separators in a file name become spaces."""
    assert _parse(tmp_path, "my_first-note.txt", "words").title == "my first note"
    assert make_title(Path("__.md")) == "__.md"


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("2022-03-29-dead-letters.md", "2022-03-29"),
        ("minutes_2024_05_06.md", "2024-05-06"),
        ("2022-03-29-dead-letters/index.md", "2022-03-29"),
        ("2022-03-29-backup/notes.md", ""),
        ("id-120220-03-291.md", ""),
        ("2022-13-40.md", ""),
    ],
)
def test_a_name_dates_a_document_without_another_date(tmp_path: Path, name: str, date: str) -> None:
    """The date of a file name counts, that of a folder only for its index, and a date in the document before both."""
    (tmp_path / name).parent.mkdir(exist_ok=True)

    assert _parse(tmp_path, name, "words").published == date
    assert _parse(tmp_path, name, "---\nlastmod: 2025-01-02\n---\nwords").published == "2025-01-02"


def test_a_date_without_a_number_is_none(tmp_path: Path) -> None:
    """A placeholder in the field of a date does not date the document to the day on which it is read."""
    assert _parse(tmp_path, "page.rst", "Top\n===\n\n:Date: |today|\n\nWords.").published == ""


_UNRECOGNIZED = f"is a picture, and {recognition.MISSING}"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.md", b"", "is empty"),
        ("a.txt", b" \n\t\n", "is empty"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is a binary file"),
        ("a.py", bytes(range(256)), "is a binary file"),
        ("a.dat", b"\x7fELF\0\0\0\0", "is a binary file"),
        ("a.md", b"<!-- only a comment -->", "has no text"),
        ("a.txt", "\u200b\u00ad".encode(), "has no text"),
        ("a.svg", b"x", "is an image of a format that is not read (convert it to PNG)"),
        ("a.png", b"x", "is a damaged picture" if recognition.is_available() else _UNRECOGNIZED),
        ("a.zip", b"x", "is an archive"),
        ("a.doc", b"x", "is a text of a format that is not read (convert it to DOCX)"),
        ("a.one", b"x", "is of a format that is not read (convert it to PDF)"),
        ("a.rtf", b"x", "is not a valid RTF document"),
        ("a.msg", b"x", "is not a valid Outlook message"),
        ("a.xlsx", b"x", "is not a valid workbook"),
        ("a.ipynb", b"x", "is not a valid notebook"),
        ("a.xml", b"<!--a-->" * 300 + b"x", None),
        ("a.exe", b"x", "is a program"),
        ("a.pdf", b"x", "is not a valid PDF"),
        ("a.docx", b"x", "is not a valid Word document"),
        ("a.rst", "> " * 3000 + "x", None),
    ],
)
def test_unreadable_files_have_a_reason(tmp_path: Path, name: str, content: bytes | str, reason: str | None) -> None:
    """An unreadable file has a reason; an unusual file is parsed."""
    if reason is None:
        assert _parse(tmp_path, name, content).text
        return
    with pytest.raises(Unreadable) as caught:
        _parse(tmp_path, name, content)

    assert caught.value.reason == reason


def test_a_text_of_two_encodings_is_read_and_named(tmp_path: Path) -> None:
    """A file that two programs wrote is read whole, and the document names the bytes that were no UTF-8."""
    document = _parse(tmp_path, "a.md", "Der Käfer kroch.\n\n".encode() + "Die Käfer flogen.".encode("cp1252"))

    assert document.text == "Der Käfer kroch.\n\nDie Käfer flogen."
    assert document.unread == "mixes UTF-8 with Windows-1252, in which 1 character was written"


@slow
def test_excessive_nesting_is_unreadable(tmp_path: Path) -> None:
    """Nesting beyond the recursion limit of Python is a reason, not a crash."""
    with pytest.raises(Unreadable, match="is nested too deeply"):
        _parse(tmp_path, "a.rst", "\n\n".join(" " * n + "x" for n in range(600)))


def test_a_large_file_is_refused_by_its_size(tmp_path: Path) -> None:
    """The limit is checked before the file is read, and the reason names it."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 2_500_001)

    with pytest.raises(Unreadable, match=r"^is larger than 2.5 MB$"):
        parse_file(path, limit_bytes=2_500_000)


def test_pipes_and_folders_are_refused_immediately(tmp_path: Path) -> None:
    """A pipe, a missing file, a link and a folder are refused immediately."""
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "link.txt").symlink_to(tmp_path / "nowhere")

    for name, reason in [
        ("pipe.txt", "is not a regular file"),
        ("gone.txt", "could not be opened (no such file or directory)"),
        ("link.txt", "is a symbolic link"),
        (".", "is a folder"),
    ]:
        with pytest.raises(Unreadable) as caught:
            parse_file(tmp_path / name)
        assert caught.value.reason == reason


def test_a_huge_line_is_parsed(tmp_path: Path) -> None:
    """A megabyte without a line break is one paragraph in every text format."""
    for suffix in (".txt", ".md", ".log", ".json"):
        assert len(_parse(tmp_path, f"a{suffix}", "word " * 200_000).text) == 999_999


def test_parsing_is_deterministic(tmp_path: Path) -> None:
    """A copy of a file gives exactly the same text."""
    first = _parse(tmp_path, "a.docx", make_docx())
    shutil.copy(tmp_path / "a.docx", tmp_path / "b.docx")

    assert parse_file(tmp_path / "b.docx") == first


@slow
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.pdf", make_pdf([["Some words of text"] * 20] * 3)),
        ("a.docx", make_docx()),
        ("a.rst", b".. a::\n   b\n\n* c `d`_\n" * 9),
        ("a.epub", make_epub()),
        ("a.rss", RSS.encode("latin-1")),
        ("a.ipynb", json.dumps({"cells": CELLS}).encode()),
        ("a.html", PAGE.encode()),
    ],
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), cut=st.integers(0, 40), put=st.binary(max_size=20))
def test_damage_never_crashes(tmp_path: Path, name: str, content: bytes, place: float, cut: int, put: bytes) -> None:
    """A damaged file is parsed or unreadable; no other error is raised."""
    start = int(place * len(content))
    try:
        document = _parse(tmp_path, name, content[:start] + put + content[start + cut :])
    except Unreadable as error:
        assert error.reason
    else:
        assert document.text
        assert document.title
