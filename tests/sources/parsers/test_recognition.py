"""Tests of the recognition of text; one page is recognized."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pypdfium2
import pytest
import typst

from tenure.sources.parsers import recognition
from tenure.sources.parsers.formats.pdf import parse_pdf
from tenure.sources.parsers.page_layout import split_columns
from tenure.sources.parsers.page_lines import PageLine, WordBox
from tests.support.tiers import slow

pytestmark = pytest.mark.skipif(not recognition.is_available(), reason="the extra `ocr` is not installed")

SENTENCE = "The retention period is fourteen months."


def make_scan(text: str, turns: int, mirrored: bool = False) -> bytes:
    """Return a PDF whose only page is a picture of a text, turned to the left or mirrored."""
    source = f'#set page(width: 16cm, height: 5cm)\n#set text(size: 14pt)\n#"{text}"'
    [page] = pypdfium2.PdfDocument(typst.compile(source.encode(), format="pdf"))
    picture = np.rot90(page.render(scale=2).to_numpy(), turns)[:, :: -1 if mirrored else 1]
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(buffer, "PDF")
    return buffer.getvalue()


@slow
def test_a_turned_scan_is_read_with_boxes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The words of a page that lies on its side have page, box and confidence, and nothing is written to the home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    document = parse_pdf(make_scan(SENTENCE, turns=1))

    assert document.text == SENTENCE
    assert [document.text[word.start : word.end] for word in document.words] == SENTENCE.split()
    assert {word.page for word in document.words} == {1}
    # The line runs from the bottom to the top, near the left side.
    assert document.words[0].top > document.words[-1].top
    assert all(word.right < 0.5 and word.confidence > 0.8 for word in document.words)
    assert not list(tmp_path.rglob("*"))


@slow
def test_a_mirrored_scan_is_read_with_boxes() -> None:
    """A page that was scanned from the back of a film is read, and its words are marked where they are seen."""
    document = parse_pdf(make_scan(SENTENCE, turns=0, mirrored=True))

    assert document.text == SENTENCE
    assert document.words[0].left > document.words[-1].left > 0.3


def test_without_time_the_scan_is_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page for which no time is left raises before anything is computed."""
    recognition.start_file(-1.0)
    with pytest.raises(recognition.Unavailable, match="time"):
        recognition.recognize(np.zeros((9, 9, 3), dtype=np.uint8))


def make_box(left: float, top: float, text: str, width: float = 400) -> recognition._Box:
    return recognition._Box(left, top, left + width, top + 20, PageLine(text, (WordBox(0, text, 0, 0, 1, 1, 0.9),)))


def test_cells_of_a_form_are_read_by_row() -> None:
    """Short texts side by side are no columns: label and value form a line, with its place and offsets of its words."""
    labels = [make_box(0, 30 * n, f"label {n}") for n in range(6)]
    values = [make_box(500, 30 * n + 3, f"value {n}") for n in range(6)]
    [block] = split_columns([*labels, *values])
    lines = list(recognition._join_rows(block))

    assert [line.text for line in lines] == [f"label {n} value {n}" for n in range(6)]
    assert [word.offset for word in lines[0].words] == [0, 8]
    assert [line.top for line in lines] == sorted({line.top for line in lines})


@pytest.mark.parametrize(
    ("turns", "box"), [(1, (0.8, 0.1, 0.9, 0.3)), (2, (0.7, 0.8, 0.9, 0.9)), (3, (0.1, 0.7, 0.2, 0.9))]
)
def test_boxes_are_those_of_the_page_before_it_was_turned(turns: int, box: tuple[float, ...]) -> None:
    """A pixel of the turned picture is where the page has it."""
    turned = recognition._turn_back(
        WordBox(0, "word", 0.1, 0.1, 0.3, 0.2, 0.9), recognition._Reading(turns, False, 1.0, 0.0, [])
    )

    assert turned[2:6] == pytest.approx(box)
    page = np.zeros((100, 50), dtype=np.uint8)
    left, top, right, bottom = turned[2:6]
    page[int(top * 100 + 0.5) : int(bottom * 100 + 0.5), int(left * 50 + 0.5) : int(right * 50 + 0.5)] = 1
    seen = np.rot90(page, turns)
    rows, columns = np.nonzero(seen)
    height, width = seen.shape
    assert (columns.min() / width, rows.min() / height) == pytest.approx((0.1, 0.1), abs=0.03)


def test_no_model_is_loaded_for_text() -> None:
    """Importing the parsers starts no engine, which takes seconds."""
    code = "import sys, tenure.sources.parsers.formats.pdf; print({'rapidocr', 'cv2', 'PIL'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "set()"
