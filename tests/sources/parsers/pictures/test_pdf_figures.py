"""Figures of PDF pages are found by their captions and drawn as parts of their pages."""

import io
from pathlib import Path

import numpy as np
import pypdfium2
import pytest

from tenure.sources.document.document import Document
from tenure.sources.parsers import recognition
from tenure.sources.parsers.formats.pdf import parse_pdf
from tenure.sources.parsers.page_lines import PageLine, WordBox
from tenure.sources.parsers.parse import parse_bytes
from tenure.sources.parsers.pictures.drawing import draw_figure
from tests.sources.pdfs import typeset
from tests.sources.pictures import draw_picture

PLOT = "#figure(rect(width: 6cm, height: 3cm, fill: red), caption: [Yield of rye by year.])"


@pytest.fixture(autouse=True)
def _no_recognition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "is_available", lambda: False)


def _parse(body: str) -> tuple[bytes, Document]:
    data = typeset(body)
    return data, parse_bytes(data, "a.pdf", ".pdf")


def test_a_drawing_above_its_caption_is_a_part_of_the_page() -> None:
    """A figure has label, caption, page and the box around what is drawn; other text of the page is outside."""
    data, document = _parse(f"#lorem(60)\n\n#pagebreak()\n#lorem(40)\n\n{PLOT}\n\n#lorem(60)")

    (figure,) = document.figures
    image = np.asarray(draw_figure(data, Path("/a.pdf"), figure, 1000)).astype(int)
    red = ((image[:, :, 0] > 200) & (image[:, :, 1] < 100)).mean()

    assert (figure.label, figure.caption, figure.page) == ("Figure 1", "Figure 1: Yield of rye by year.", 2)
    assert document.text[figure.start : figure.end] == "Figure 1: Yield of rye by year."
    assert figure.bottom - figure.top < 0.3
    assert red > 0.5


def test_a_caption_above_its_drawing_has_it_too() -> None:
    """A drawing below a caption belongs to it if nothing is drawn above."""
    _, document = _parse("#lorem(40)\n\nFigure 4: Yield of rye.\n\n#rect(width: 6cm, height: 3cm, fill: red)")

    (figure,) = document.figures
    assert figure.label == "Figure 4"
    assert 0 < figure.top < figure.bottom < 1


def test_two_figures_of_a_page_have_their_own_boxes() -> None:
    """The caption between two drawings ends the lower one."""
    _, document = _parse(f"{PLOT}\n#v(3cm)\n{PLOT}")

    upper, lower = document.figures
    assert (upper.label, lower.label) == ("Figure 1", "Figure 2")
    assert upper.bottom <= lower.top


def test_a_figure_of_words_alone_is_its_page() -> None:
    """If nothing is drawn near a caption, the whole page is shown."""
    _, document = _parse("step one leads to step two\n\nFigure 1: Two steps.")

    assert [figure.box for figure in document.figures] == [(0.0, 0.0, 1.0, 1.0)]


def test_the_text_of_a_bitmap_on_a_page_with_text_is_recognized(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its words follow the caption and have their places on the page."""
    import typst

    (tmp_path / "a.png").write_bytes(draw_picture("Rye 17 t"))
    (tmp_path / "a.typ").write_text(
        '#set page("a5")\n#lorem(50)\n#figure(image("a.png", width: 6cm), caption: [Yield of rye.])\n#lorem(50)'
    )
    monkeypatch.setattr(recognition, "is_available", lambda: True)
    word = WordBox(0, "Rye", 0.0, 0.0, 1.0, 1.0, 0.9)
    monkeypatch.setattr(recognition, "recognize", lambda image: [PageLine("Rye", (word,))])

    document = parse_bytes(typst.compile(str(tmp_path / "a.typ"), format="pdf"), "a.pdf", ".pdf")

    (figure,), (read,) = document.figures, document.words
    assert document.text[figure.start : figure.end] == "Figure 1: Yield of rye.\n\nRye"
    assert document.text[read.start : read.end] == "Rye"
    assert read.page == 1
    assert read[3:7] == pytest.approx(figure.box)


def test_sentences_with_references_are_no_figures() -> None:
    """A paragraph that begins with a reference has no picture."""
    assert parse_pdf(typeset("Figure 3 shows nothing here.\n\n#lorem(30)")).pictures == ()


def test_a_page_that_is_one_form_has_figures_of_its_own() -> None:
    """Files of proceedings have each page as a form with a stamp below it; the drawings in it are found."""
    plain, _ = _parse(f"#lorem(60)\n\n#lorem(40)\n\n{PLOT}\n\n#lorem(300)")
    with pypdfium2.PdfDocument(plain) as pages, pypdfium2.PdfDocument.new() as stamped:
        form = pages.page_as_xobject(0, stamped)
        page = stamped.new_page(*pages.get_page_size(0))
        page.insert_obj(form.as_pageobject())
        page.gen_content()
        buffer = io.BytesIO()
        stamped.save(buffer)

    (figure,) = parse_bytes(buffer.getvalue(), "a.pdf", ".pdf").figures
    assert figure.label == "Figure 1"
    assert 0 < figure.bottom - figure.top < 0.3


def test_labels_next_to_a_drawing_are_a_part_of_it() -> None:
    """Numbers of an axis 30 points from the drawing belong to the figure, and the text of the page does not."""
    plot = "#stack(dir: ltr, spacing: 30pt, [30000], rect(width: 6cm, height: 3cm, fill: red))"
    _, plain = _parse(f"#lorem(40)\n\n{PLOT}")
    _, labelled = _parse(f"#lorem(40)\n\n#figure({plot[1:]}, caption: [Yield.])")

    (without,), (figure,) = plain.figures, labelled.figures
    assert figure.right - figure.left > without.right - without.left + 0.05
    assert abs((figure.bottom - figure.top) - (without.bottom - without.top)) < 0.05
