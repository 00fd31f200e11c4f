"""Tests of the parser of pictures; none is recognized."""

import struct
import zlib

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers import recognition
from tenure.sources.parsers.formats.picture import parse_picture
from tenure.sources.parsers.page_lines import PageLine

pytestmark = pytest.mark.skipif(not recognition.is_available(), reason="the extra `ocr` is not installed")


def make_png(width: int, height: int) -> bytes:
    """Return a white picture with one bit for each pixel; no line has more than its compressed zeros."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + b"\xff" * ((width + 7) // 8)) * min(height, 2000))
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n", "is a damaged picture"),
        (make_png(200, 100)[:60], "is a damaged picture"),
        (make_png(40, 400), "is a picture too small for text"),
        (make_png(20_000, 7_000), "is a picture of more than 120 megapixels"),
        (make_png(100_000, 100_000), "is a picture of more than 120 megapixels"),
    ],
)
def test_unreadable_pictures_have_a_reason(data: bytes, reason: str) -> None:
    """Damaged, tiny and huge pictures are refused before they are decoded."""
    with pytest.raises(Unreadable) as caught:
        parse_picture(data)

    assert caught.value.reason == reason


def test_a_picture_without_text_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture in which nothing is recognized is no document."""
    monkeypatch.setattr(recognition, "recognize", lambda image: [])
    with pytest.raises(Unreadable, match="without legible text"):
        parse_picture(make_png(200, 100))


def test_the_first_pages_of_a_long_scan_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the time ends, the pages before are read, and the rest is named."""
    import io

    from PIL import Image

    replies = iter([[PageLine("First page.")], [PageLine("Second page.")]])

    def recognize(image: recognition.Image) -> list[PageLine]:
        lines = next(replies, None)
        if lines is None:
            raise recognition.Unavailable(recognition.NO_TIME)
        return lines

    monkeypatch.setattr(recognition, "recognize", recognize)
    buffer = io.BytesIO()
    pages = [Image.new("L", (200, 100), 255) for _ in range(4)]
    pages[0].save(buffer, "TIFF", save_all=True, append_images=pages[1:])
    document = parse_picture(buffer.getvalue())

    assert len(document.pages) == 2
    assert document.unread == f"was read to page 2: {recognition.NO_TIME}"


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_the_upper_part_of_a_truncated_picture_is_read(kind: str) -> None:
    """A download that broke off is read as far as it goes, and the rest is named."""
    import io

    from PIL import Image, ImageDraw

    image = Image.effect_noise((800, 1200), 20).convert("RGB")
    for top in range(100, 1200, 200):
        ImageDraw.Draw(image).text((40, top), f"The mill stands at {top}.", fill="black", font_size=48)
    buffer = io.BytesIO()
    image.save(buffer, kind)
    document = parse_picture(buffer.getvalue()[: buffer.tell() // 2])

    assert "stands at 300" in document.text
    assert "stands at 900" not in document.text
    assert document.unread == "was read only in part: the file is damaged"


def test_a_second_attempt_counts_pages_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A truncated scan that begins with an empty page is read again, and its second page keeps its number."""
    import io

    from PIL import Image

    replies = iter([[], [], [PageLine("Second page.")]])
    monkeypatch.setattr(recognition, "recognize", lambda image: next(replies))
    buffer = io.BytesIO()
    pages = [Image.effect_noise((200, 100), 20) for _ in range(2)]
    pages[0].save(buffer, "TIFF", save_all=True, append_images=pages[1:])
    document = parse_picture(buffer.getvalue()[:30_000])  # the second page begins at 20,250

    assert len(document.pages) == 2
    assert document.unread == "was read only in part: the file is damaged"


def test_without_the_extra_pictures_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason names the extra."""
    monkeypatch.setattr(recognition, "is_available", lambda: False)
    with pytest.raises(Unreadable, match="extra `ocr`"):
        parse_picture(make_png(200, 100))
