"""Drawings are read as text and drawn as bitmaps, and load nothing."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers import recognition
from tenure.sources.parsers.parse import parse_file
from tenure.sources.parsers.pictures.drawing import draw_figure
from tenure.sources.parsers.pictures.svg import draw_svg, is_svg, read_svg_text
from tests.sources.pictures import draw_picture

SVG = (
    b'<?xml version="1.0"?><!-- plot --><svg xmlns="http://www.w3.org/2000/svg" width="300" height="200">'
    b'<title>Yield of rye</title><rect width="300" height="120" fill="red"/>'
    b'<text x="10" y="180">Rye <tspan>17 t</tspan></text>%s</svg>'
)


def test_a_drawing_of_a_page_is_text_and_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its labels follow its caption without any recognition, and a model is shown a bitmap of it."""
    monkeypatch.setattr(recognition, "is_available", lambda: False)
    (tmp_path / "plot.svg").write_bytes(SVG % b"")
    page = tmp_path / "page.html"
    page.write_text(
        "<html><body><main><p>The yield of rye fell in the last five years, as Figure 2 shows.</p><figure>"
        "<img src='plot.svg'><figcaption>Figure 2: Yield of rye by year.</figcaption></figure></main></body></html>"
    )

    document = parse_file(page)
    (figure,) = document.figures
    red = np.asarray(draw_figure(page.read_bytes(), page, figure, 600)).astype(int)

    assert "Yield of rye\nRye 17 t" in document.text[figure.start : figure.end]
    assert ((red[:, :, 0] > 200) & (red[:, :, 1] < 100)).mean() > 0.5


def test_a_drawing_loads_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures that a drawing links are left out, in the working directory as well."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.png").write_bytes(draw_picture(color="blue"))
    links = b"".join(
        b'<image href="%s" width="300" height="200"/>' % link
        for link in (b"secret.png", b"file:///etc/passwd", b"http://127.0.0.1:9/x.png")
    )

    drawn = np.asarray(Image.open(io.BytesIO(draw_svg(SVG % links)))).astype(int)

    assert not ((drawn[:, :, 2] > 200) & (drawn[:, :, 0] < 100)).any()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<svg", "damaged"),
        (b'<!DOCTYPE svg [<!ENTITY a "b">]><svg xmlns="http://www.w3.org/2000/svg"/>', "entities"),
        (SVG % (b" " * 5_000_000), "more than 5 MB"),
    ],
)
def test_hostile_drawings_are_refused(data: bytes, reason: str) -> None:
    """A drawing that is damaged, declares entities or is too large is named as unread."""
    with pytest.raises(Unreadable, match=reason):
        draw_svg(data)


def test_other_files_are_no_drawings() -> None:
    """A bitmap and a page with a drawing in it are none; a drawing may have a comment before it."""
    assert is_svg(SVG % b"")
    assert not is_svg(draw_picture())
    assert not is_svg(b"<html><body><svg></svg></body></html>")
    assert read_svg_text(b'<svg xmlns="http://www.w3.org/2000/svg"/>') == ""
