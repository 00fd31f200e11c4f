"""Pictures in documents are found with their captions, read, and drawn again."""

import io
from bisect import bisect_right
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tenure.contracts.evidence.figures import WHOLE, Figure
from tenure.sources.document.document import Document, EmbeddedPicture, Unreadable
from tenure.sources.parsers import recognition
from tenure.sources.parsers.page_lines import PageLine, WordBox
from tenure.sources.parsers.parse import parse_file
from tenure.sources.parsers.pictures import embedded
from tenure.sources.parsers.pictures.drawing import draw_figure
from tenure.sources.parsers.pictures.embedded import read_pictures
from tenure.sources.parsers.pictures.neighbours import load_neighbour, load_nothing
from tests.sources.packages import OPF, make_epub
from tests.sources.pictures import (
    draw_picture,
    make_docx_with_pictures,
    make_pptx_with_picture,
    write_page_with_pictures,
)


@pytest.fixture
def _read_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recognize the colour of a picture instead of its text."""

    def recognize(image: recognition.Image) -> list[PageLine]:
        text = "Rye 17 t" if image[0, 0].tolist() == [255, 255, 255] else "MILL"
        return [PageLine(text, (WordBox(0, text, 0.1, 0.2, 0.3, 0.4, 0.9),))]

    monkeypatch.setattr(recognition, "is_available", lambda: True)
    monkeypatch.setattr(recognition, "recognize", recognize)


@pytest.fixture
def _no_recognition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "is_available", lambda: False)


def _describe(document: Document) -> list[tuple[str, str, str]]:
    return [(figure.label, figure.caption, document.text[figure.start : figure.end]) for figure in document.figures]


@pytest.mark.usefixtures("_read_sizes")
def test_pictures_of_a_word_document_stand_at_their_captions(tmp_path: Path) -> None:
    """Recognized text follows the caption, an alternative text is a paragraph of its own, and an icon is left out."""
    (tmp_path / "rye.docx").write_bytes(make_docx_with_pictures())

    document = parse_file(tmp_path / "rye.docx")

    assert document.text == (
        "# Yields\n\nThe yield fell, as Figure 2 shows.\n\nFigure 2: Yield of rye by year.\n\nRye 17 t\n\n"
        "The mill stands on the river.\n\nPicture: A mill with three wheels\n\nMILL\n\nThe end."
    )
    assert _describe(document) == [
        ("Figure 2", "Figure 2: Yield of rye by year.", "Figure 2: Yield of rye by year.\n\nRye 17 t"),
        ("", "A mill with three wheels", "\n\nPicture: A mill with three wheels\n\nMILL"),
    ]
    assert [(document.text[word.start : word.end], word.page) for word in document.words] == [
        ("Rye 17 t", 0),
        ("MILL", 0),
    ]
    assert document.unread == ""


@pytest.mark.usefixtures("_read_sizes")
def test_a_picture_of_a_slide_is_on_its_page(tmp_path: Path) -> None:
    """The alternative text and the recognized text belong to the slide of the picture."""
    (tmp_path / "talk.pptx").write_bytes(make_pptx_with_picture())

    document = parse_file(tmp_path / "talk.pptx")

    assert document.text == "# Start\n\n# Yield\n\nPicture: Yield of rye in tonnes\n\nRye 17 t"
    assert bisect_right(document.pages, document.text.index("Rye")) == 2


@pytest.mark.usefixtures("_read_sizes")
def test_pictures_of_a_web_page_are_files_beside_it_and_data_addresses(tmp_path: Path) -> None:
    """Pictures of the main text are read; those on the web and above the folder are named and never opened."""
    document = parse_file(write_page_with_pictures(tmp_path))

    assert [(figure.label, figure.part) for figure in document.figures] == [
        ("Figure 2", "img/rye%20plot.png"),
        ("", "data:2"),
    ]
    assert "Figure 2: Yield of rye by year.\n\nRye 17 t" in document.text
    assert "it has been there for years.\n\nPicture: A mill with three wheels\n\nMILL" in document.text
    assert document.unread == "was read without 2 pictures: is not in the folder of the page"


@pytest.mark.usefixtures("_no_recognition")
def test_pictures_are_found_without_text_recognition(tmp_path: Path) -> None:
    """Without the extra, captions and alternative texts are found, and nothing is called unread."""
    (tmp_path / "rye.docx").write_bytes(make_docx_with_pictures())

    document = parse_file(tmp_path / "rye.docx")

    assert [figure.label for figure in document.figures] == ["Figure 2", ""]
    assert "Rye 17 t" not in document.text
    assert (document.words, document.unread) == ((), "")


@pytest.mark.usefixtures("_read_sizes")
def test_pictures_of_a_book_are_members_of_its_package(tmp_path: Path) -> None:
    """A picture is addressed from the folder of its chapter."""
    chapter = (
        "<html><body><h1>Chapter one</h1><p>Rye.</p><img src='../img/rye.png'/><p>Figure 1: Rye.</p></body></html>"
    )
    target = "OEBPS/img/rye.png"
    files: dict[str, bytes | str] = {"OEBPS__text__one.xhtml": chapter, target.replace("/", "__"): draw_picture("Rye")}
    (tmp_path / "book.epub").write_bytes(make_epub(OPF, **files))

    document = parse_file(tmp_path / "book.epub")

    assert [(figure.label, figure.part) for figure in document.figures] == [("Figure 1", target)]
    assert draw_figure(
        (tmp_path / "book.epub").read_bytes(), tmp_path / "book.epub", document.figures[0], 200
    ).size == (
        200,
        150,
    )


def test_every_picture_is_drawn_again_from_its_file(tmp_path: Path) -> None:
    """A figure is drawn from its part of the file, within a size; a part that is missing is an error of one line."""
    (tmp_path / "rye.docx").write_bytes(make_docx_with_pictures())
    page = write_page_with_pictures(tmp_path)
    colours = []
    for path in (tmp_path / "rye.docx", page):
        for figure in parse_file(path).figures:
            image = draw_figure(path.read_bytes(), path, figure, 200)
            assert image.size == (200, 150)
            colours.append(np.asarray(image)[0, 0].tolist())

    assert colours == [[255, 255, 255], [173, 216, 230]] * 2
    for path, part in ((tmp_path / "rye.docx", "word/media/none.png"), (page, "data:9"), (page, "../secret.png")):
        with pytest.raises(Unreadable):
            draw_figure(path.read_bytes(), path, Figure(0, 0, "", "", part), 200)


@pytest.mark.usefixtures("_read_sizes")
def test_bounds_of_pictures_are_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures above the bounds, damaged ones, and those after the last are left out with the reasons."""
    monkeypatch.setattr(embedded, "MAX_PICTURES", 4)
    monkeypatch.setattr(embedded, "MAX_BYTES", 10_000)
    big = draw_picture("x", (400, 300), "red")
    contents = [b"\0" * 10_001, b"no picture", big[:100], big, big]
    pictures = tuple(EmbeddedPicture(5, f"{n}.png", "", data) for n, data in enumerate(contents))

    document = read_pictures(Document("t", "Text.", "prose", pictures=pictures), load_nothing)

    assert [figure.part for figure in document.figures] == ["3.png"]
    assert document.unread == (
        "was read without 4 pictures: is a picture of more than 0 MB; is damaged, or of a format that is not read; "
        "a document may have 4 pictures"
    )


def test_time_that_is_used_up_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures after the end of the time are figures without text, and the line of the document says so."""

    def recognize(image: recognition.Image) -> list[PageLine]:
        raise recognition.Unavailable(recognition.NO_TIME)

    monkeypatch.setattr(recognition, "is_available", lambda: True)
    monkeypatch.setattr(recognition, "recognize", recognize)
    pictures = tuple(EmbeddedPicture(5, f"{n}.png", "", draw_picture("x", (400, 300 + n))) for n in range(2))

    document = read_pictures(Document("t", "Text.", "prose", pictures=pictures, unread="lacks a page"), load_nothing)

    assert len(document.figures) == 2
    assert document.unread == f"lacks a page; it was read without 2 pictures: {recognition.NO_TIME}"


def test_a_link_beside_a_page_is_not_followed(tmp_path: Path) -> None:
    """A symbolic link in the folder of a page leads nowhere."""
    (tmp_path / "secret.png").write_bytes(draw_picture())
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "a.png").symlink_to(tmp_path / "secret.png")

    with pytest.raises(Unreadable, match="symbolic link"):
        load_neighbour(folder)("a.png")


def test_offsets_move_with_the_inserted_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages after a picture begin later, and several pictures at one place keep their order."""
    monkeypatch.setattr(recognition, "is_available", lambda: False)
    names = ("One two three", "Four five six")
    pictures = tuple(
        EmbeddedPicture(5, f"{n}.png", name, draw_picture(name, (300, 200))) for n, name in enumerate(names)
    )

    document = read_pictures(
        Document("t", "Rye.\n\nOat.", "prose", pages=(0, 6), pictures=pictures[::-1]), load_nothing
    )

    assert document.text == "Rye.\n\nOat.\n\nPicture: Four five six\n\nPicture: One two three"
    assert document.pages == (0, 6)
    assert all(figure.box == WHOLE for figure in document.figures)


def test_an_upright_photograph_is_drawn_as_it_is_seen(tmp_path: Path) -> None:
    """The orientation that a camera records is applied."""
    image = Image.new("RGB", (400, 300))
    exif = image.getexif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", exif=exif)

    assert draw_figure(buffer.getvalue(), tmp_path / "a.jpg", Figure(0, 0, "", "", ""), 100).size == (75, 100)


def test_drawings_of_office_are_named() -> None:
    """EMF and WMF are not read, and the reason says so."""
    document = Document(
        title="", text="a", kind="prose", pictures=(EmbeddedPicture(1, "a.emf", "", b"\x01" + bytes(39) + b" EMF"),)
    )

    assert read_pictures(document, load_nothing).unread == (
        "was read without 1 picture: is a drawing of Office (EMF or WMF), which is not read"
    )
