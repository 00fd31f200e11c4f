"""Draw a page of a PDF or a picture with quoted words marked, as a reader of a report checks them."""

import io
from collections.abc import Iterator, Sequence

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image, ImageChops, ImageDraw

from tenure.contracts.evidence.recognition import PagePlace, RecognizedWord
from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats.pdf import PDF
from tenure.sources.parsers.pictures.pixels import MAX_PIXELS

_WIDTH, _MAX_HEIGHT = 1000, 3000
"""Pixels of the drawn page."""
_MAX_SCALE = 3.0
_QUALITY = 75
"""Quality of the image: a page of text takes 60 to 150 kB."""
_MARK_COLOR = (255, 236, 110)
_MARGIN = 2
"""Pixels around marked words."""
_MAX_CHARACTERS = 60_000
"""Characters of a page that are searched for the quote; a dense page of a newspaper has 20,000."""

_Box = tuple[float, float, float, float]


def draw_page(data: bytes, place: PagePlace) -> bytes:
    """Return the page of a PDF or picture as a WebP image with the quote marked, as far as its words are found.

    Raises:
        Unreadable: the file is damaged, or has no such page.
    """
    try:
        image, boxes = _draw_pdf(data, place) if data.startswith(PDF.signature) else _draw_picture(data, place)
    except (pypdfium2.PdfiumError, OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise Unreadable("is damaged") from error
    buffer = io.BytesIO()
    _mark(image, boxes).save(buffer, "WEBP", quality=_QUALITY)
    return buffer.getvalue()


def _draw_pdf(data: bytes, place: PagePlace) -> tuple[Image.Image, list[_Box]]:
    with pypdfium2.PdfDocument(data) as document:
        if not 0 < place.page <= len(document):
            raise Unreadable(f"has no page {place.page}")
        page = document[place.page - 1]
        width, height = page.get_size()
        bitmap = page.render(scale=min(_MAX_SCALE, _WIDTH / width, _MAX_HEIGHT / height))
        image = bitmap.to_pil().convert("RGB")
        if place.words:
            return image, _scale_words(place.words, image)
        position = bitmap.get_posconv(page)
        corners = [
            (position.to_bitmap(left, top), position.to_bitmap(right, bottom))
            for left, bottom, right, top in _find_rectangles(page.get_textpage(), place)
        ]
        return image, [(min(a, c), min(b, d), max(a, c), max(b, d)) for (a, b), (c, d) in corners]


def _draw_picture(data: bytes, place: PagePlace) -> tuple[Image.Image, list[_Box]]:
    Image.MAX_IMAGE_PIXELS = None  # the size is checked here, before anything is decoded
    with Image.open(io.BytesIO(data)) as picture:
        picture.seek(max(0, place.page - 1))
        if picture.width * picture.height > MAX_PIXELS:
            raise Unreadable("is too large to be shown")
        picture.draft("RGB", (_WIDTH, _MAX_HEIGHT))
        image = picture.convert("RGB")
    image.thumbnail((_WIDTH, _MAX_HEIGHT))
    return image, _scale_words(place.words, image)


def _scale_words(words: Sequence[RecognizedWord], image: Image.Image) -> list[_Box]:
    width, height = image.size
    return [(word.left * width, word.top * height, word.right * width, word.bottom * height) for word in words]


def _find_rectangles(text: pypdfium2.PdfTextPage, place: PagePlace) -> Iterator[_Box]:
    """Yield a rectangle for each line of the quote: left, bottom, right and top on the page."""
    count = min(pdfium.FPDFText_CountChars(text), _MAX_CHARACTERS)
    characters = [(chr(pdfium.FPDFText_GetUnicode(text, index)), index) for index in range(count)]
    for first, last in find_quote(characters, place):
        for number in range(text.count_rects(first, last - first + 1)):
            yield text.get_rect(number)


def find_quote(characters: Sequence[tuple[str, int]], place: PagePlace) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the first and the last character of each piece of a quote that is among characters.

    The cells of a row need not follow each other, so each of them is looked for if the whole is not found.
    """
    letters = [(letter, n) for character, n in characters for letter in character.casefold() if letter.isalnum()]
    page = "".join(letter for letter, _ in letters)
    expected = place.share * len(page)
    whole = _keep_letters(place.quote)
    pieces = [whole] if whole in page else map(_keep_letters, place.quote.replace("\n", "|").split("|"))
    for piece in filter(None, pieces):
        starts = list(_find_all(page, piece))
        if starts:
            start = min(starts, key=lambda position: abs(position - expected))
            yield letters[start][1], letters[start + len(piece) - 1][1]


def _keep_letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _find_all(text: str, piece: str) -> Iterator[int]:
    position = text.find(piece)
    while position >= 0:
        yield position
        position = text.find(piece, position + 1)


def _mark(image: Image.Image, boxes: Sequence[_Box]) -> Image.Image:
    """Return the image with boxes coloured like by a marker, below the letters."""
    marks = Image.new("RGB", image.size, "white")
    drawing = ImageDraw.Draw(marks)
    for left, top, right, bottom in boxes:
        drawing.rectangle((left - _MARGIN, top - _MARGIN, right + _MARGIN, bottom + _MARGIN), fill=_MARK_COLOR)
    return ImageChops.multiply(image, marks)
