"""Tests of the registry of document formats."""

import subprocess
import sys
from pathlib import Path

import pytest

from tenure.extensions import DOCUMENT_FORMATS, PLUGINS_VARIABLE
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.isolation import build_child_environment
from tenure.sources.parsers import formats as format_package
from tenure.sources.parsers.parse import parse_file
from tenure.sources.parsers.registry import Format, find_format, find_suffix, list_formats, read_declarations
from tenure.sources.parsers.web_page import parse_page

PLUGIN = '''"""Parse a format of its own.

class of documents: notes.
"""

from typing import Final

from tenure.sources.document.document import Document
from tenure.sources.parsers.registry import Format

ACME: Final = Format(
    parser="parse_acme",
    description="notes of Acme",
    suffixes=(".acme", ".acm"),
    media_types=("application/x-acme",),
    is_binary=True,
    signature=b"ACME",
)


def parse_acme(data: bytes, limit_bytes: int) -> Document:
    return Document(title="", text=data[4:].decode(), kind="prose")
'''


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Add the format `acme` from a folder of plugins, and return the folder."""
    folder = tmp_path / "document_formats"
    folder.mkdir()
    (folder / "acme.py").write_text(PLUGIN)
    monkeypatch.setenv(PLUGINS_VARIABLE, str(tmp_path))
    monkeypatch.setattr(format_package, "__path__", [*format_package.__path__, str(folder)])
    monkeypatch.delitem(sys.modules, f"{DOCUMENT_FORMATS}.acme", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "content"), [("note.acme", b"\0word"), ("note.acm", b"\0word"), ("note", b"ACMEword")]
)
def test_a_new_module_is_a_format(plugins: Path, name: str, content: bytes) -> None:
    """One file adds a format, by its suffixes and its signature."""
    file = plugins / name
    file.write_bytes(content if content.startswith(b"ACME") else b"ACME" + content[1:])

    assert parse_file(file) == Document(title="note", text="word", kind="prose")


def test_a_new_format_is_read_from_the_web(plugins: Path) -> None:
    """Its media type is enough."""
    assert parse_page(b"0000word", "application/x-acme", "", "https://a.org/note").document.text == "word"


def test_a_reader_process_finds_a_plugin(plugins: Path) -> None:
    """The folder of plugins is part of the environment of child processes."""
    program = "from tenure.sources.parsers.registry import find_suffix; print(find_suffix('application/x-acme'))"
    found = subprocess.run(
        [sys.executable, "-c", program], env=build_child_environment(), capture_output=True, text=True, check=True
    )

    assert found.stdout == ".acme\n"


def test_without_the_plugin_the_format_is_unknown(tmp_path: Path) -> None:
    """The registry does not cache a removed folder."""
    (tmp_path / "note.acme").write_bytes(b"\0\1\2")

    with pytest.raises(Unreadable, match="is a binary file"):
        parse_file(tmp_path / "note.acme")


def test_a_declaration_has_to_be_literal(tmp_path: Path) -> None:
    """A declaration that would have to be executed is an error."""
    file = tmp_path / "computed.py"
    file.write_text("X = Format(parser='p', description='d', suffixes=tuple('ab'))")

    with pytest.raises(ValueError, match="malformed node"):
        list(read_declarations(file))


def test_listing_formats_imports_no_parser() -> None:
    """A reader process starts without the libraries of the parsers."""
    program = (
        "import sys; from tenure.sources.parsers.registry import list_formats; import tenure.sources.parsers.parse; "
        f"list_formats(); print([name for name in sys.modules if name.startswith('{DOCUMENT_FORMATS}.')])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert found.stdout == "[]\n"


@pytest.mark.parametrize("declared", list_formats(), ids=lambda declared: declared.parser)
def test_every_declared_parser_exists(declared: Format) -> None:
    """Each declaration names a function of its module."""
    assert callable(declared.load_binary_parser() if declared.is_binary else declared.load_text_parser())


def test_suffixes_and_media_types_are_unique() -> None:
    """No two formats declare the same suffix or media type."""
    suffixes = [suffix for declared in list_formats() for suffix in declared.suffixes]
    media_types = [name for declared in list_formats() for name in declared.media_types]

    assert (len(set(suffixes)), len(set(media_types))) == (len(suffixes), len(media_types))


def test_suffixes_and_media_types_lead_to_a_format() -> None:
    """Both lookups use the declarations."""
    declared = find_format(".htm")

    assert declared is not None
    assert declared.parser == "parse_html"
    assert (find_suffix("application/pdf"), find_suffix("image/png")) == (".pdf", "")
