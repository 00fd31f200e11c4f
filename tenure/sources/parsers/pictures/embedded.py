"""Read the pictures in a document: find their captions, and recognize their text as in picture files.

Recognized text becomes a paragraph after the caption. Pictures are found with and without the
extra `ocr`; a picture is named as unread if its text should have been recognized and could not be.
"""

import hashlib
import io
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from tenure.algorithms.chunking.figure_labels import MAX_CAPTION_CHARACTERS, find_caption_label
from tenure.contracts.evidence.figures import Figure
from tenure.contracts.evidence.places import DocumentPlace
from tenure.contracts.evidence.recognition import RecognizedWord
from tenure.sources.document.document import Document, EmbeddedPicture, RecognizedText, Unreadable
from tenure.sources.document.normal_form import collapse_whitespace
from tenure.sources.parsers import recognition
from tenure.sources.parsers.page_lines import write_pages
from tenure.sources.parsers.pictures.neighbours import MAX_BYTES, Loader
from tenure.sources.parsers.pictures.pixels import load_pixels
from tenure.sources.parsers.pictures.svg import draw_svg, is_svg, read_svg_text

MAX_PICTURES: Final = 300
"""Pictures of a document that are looked at; a manual of 400 pages has 100 to 250 screenshots."""
MIN_SIDE, MIN_PIXELS = 80, 30_000
"""Pixels of the shorter side and in total from which a picture is more than an icon or a line: a logo at the head of a
letter has about 200 × 80, the smallest legible plot 240 × 160."""
_MIN_DESCRIPTION_WORDS: Final = 3
"""Words from which an alternative text says more than "image 1" or "logo.png"."""
PICTURE_FORMATS: Final = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")
"""Formats that Pillow decodes here."""
_WMF, _EMF, _EMF_OFFSET = b"\xd7\xcd\xc6\x9a", b" EMF", 40
"""Signatures of drawings of Office, and the offset of the second one."""
_MAX_NAMED: Final = 3
_UNKNOWN: Final = "is damaged, or of a format that is not read"


class _Insertion(NamedTuple):
    """Text that is added at an offset, with its recognized words."""

    offset: int
    text: str
    words: tuple[RecognizedWord, ...]


def read_pictures(document: Document, load: Loader) -> Document:
    """Return a document with the recognized text and the places of its pictures."""
    if not document.pictures:
        return document
    reader = _PictureReader(document, load)
    found = [*reader.read_all(sorted(document.pictures[:MAX_PICTURES], key=lambda picture: picture.start))]
    if len(document.pictures) > MAX_PICTURES:
        reader.unread.append(f"a document may have {MAX_PICTURES} pictures")
    return _insert(replace(document, pictures=()), found, _describe_unread(document.unread, reader.unread))


class _PictureReader:
    """Reader of the pictures of one document; a picture that occurs several times is read once."""

    def __init__(self, document: Document, load: Loader) -> None:
        self._text, self._load = document.text, load
        self._seen: set[bytes] = set()
        self.unread: list[str] = []

    def read_all(self, pictures: Sequence[EmbeddedPicture]) -> Iterator[tuple[Figure, _Insertion | None]]:
        """Yield the pictures above a size, with the text that is inserted for them."""
        for picture in pictures:
            try:
                recognized = picture.recognized if picture.page else self._recognize(picture)
            except _TooSmall:
                continue
            except (Unreadable, OSError, ValueError, SyntaxError) as error:
                self.unread.append(error.reason if isinstance(error, Unreadable) else _UNKNOWN)
                continue
            yield self._place(picture, recognized)

    def _recognize(self, picture: EmbeddedPicture) -> RecognizedText | None:
        """Return the recognized text of a picture; None without any.

        Raises:
            _TooSmall: it is an icon, or has been read before.
            Unreadable: it is too large.
            OSError: it is damaged, of an unknown format, or missing.
        """
        from PIL import Image

        data = self._load(picture.part) if picture.data is None else picture.data
        if len(data) > MAX_BYTES:
            raise Unreadable(f"is a picture of more than {MAX_BYTES // 1_000_000} MB")
        digest = hashlib.sha256(data).digest()
        if digest in self._seen:
            raise _TooSmall
        self._seen.add(digest)
        written = ""
        if is_svg(data):
            written, data = read_svg_text(data), draw_svg(data)
        elif data.startswith(_WMF) or data[_EMF_OFFSET:].startswith(_EMF):
            raise Unreadable("is a drawing of Office (EMF or WMF), which is not read")
        Image.MAX_IMAGE_PIXELS = None  # `load_pixels` checks the size, before anything is decoded
        with Image.open(io.BytesIO(data), formats=PICTURE_FORMATS) as image:
            if min(image.size) < MIN_SIDE or image.width * image.height < MIN_PIXELS:
                raise _TooSmall
            if written:
                return RecognizedText(written, ())
            if not recognition.is_available():
                return None
            pixels = load_pixels(image)
        try:
            return write_recognized(pixels)
        except recognition.Unavailable as error:
            self.unread.append(str(error))
            return None

    def _place(self, picture: EmbeddedPicture, recognized: RecognizedText | None) -> tuple[Figure, _Insertion | None]:
        start, label, caption = self._find_caption(picture)
        parts = [recognized.text] if recognized else []
        words = recognized.words if recognized else ()
        if not caption and not picture.page and len(picture.description.split()) >= _MIN_DESCRIPTION_WORDS:
            label = find_caption_label(picture.description)
            parts.insert(0, picture.description if label else f"Picture: {picture.description}")
            words = tuple(_move(word, len(parts[0]) + 2) for word in words)
        caption = caption or picture.description
        end = self._text.find("\n\n", max(start, picture.start))
        end = len(self._text) if end < 0 else end
        figure = Figure(
            *(start, end, label, caption[:MAX_CAPTION_CHARACTERS], picture.part, picture.page), *picture.box
        )
        return figure, _Insertion(end, "\n\n".join(parts), words) if parts else None

    def _find_caption(self, picture: EmbeddedPicture) -> tuple[int, str, str]:
        """Return offset, label and text of the paragraph at, after or before a picture that is its caption."""
        text, at = self._text, picture.start  # the end of a paragraph, or of a PDF the start of its caption
        before = text.rfind("\n\n", 0, at)
        following = text.find("\n\n", at) if at else -2
        starts = [following + 2 if following != -1 else len(text), before + 2 if before >= 0 else 0]
        if picture.page:
            starts = [at] if picture.label else []
        for start in starts:
            end = text.find("\n", start)
            block = text[start : end if end >= 0 else len(text)]
            label = find_caption_label(block[:MAX_CAPTION_CHARACTERS])
            if label and label == (picture.label or label):
                return start, label, block
        return min(at, len(text)), picture.label, ""


class _TooSmall(Exception):
    """A picture that is no figure: an icon, or a picture that was read before."""


def write_recognized(pixels: recognition.Image) -> RecognizedText | None:
    """Return the recognized text of a picture, with its words on page 0; None without any.

    Raises:
        Unavailable: the extra is not installed, or the file has used up its time.
    """
    lines = recognition.recognize(pixels)
    if not lines:
        return None
    document = write_pages([lines])
    return RecognizedText(document.text, tuple(word._replace(page=0) for word in document.words))


def _insert(document: Document, found: Sequence[tuple[Figure, _Insertion | None]], unread: str) -> Document:
    """Return a document with the insertions, and all its offsets moved."""
    insertions = sorted((entry for _, entry in found if entry), key=lambda entry: entry.offset)
    pieces: list[str] = []
    words: list[RecognizedWord] = []
    offsets, shifts = [], [0]
    before = 0
    for insertion in insertions:
        gap = "\n\n" if insertion.offset or pieces else ""
        pieces += [document.text[before : insertion.offset], gap, insertion.text]
        start = insertion.offset + shifts[-1] + len(gap)
        words += [_move(word, start) for word in insertion.words]
        offsets.append(insertion.offset)
        shifts.append(shifts[-1] + len(gap) + len(insertion.text))
        before = insertion.offset
    pieces.append(document.text[before:])

    def move(offset: int) -> int:
        return offset + shifts[bisect_right(offsets, offset - 1)]

    def move_end(offset: int) -> int:
        return offset + shifts[bisect_right(offsets, offset)]

    return replace(
        document,
        text="".join(pieces),
        pages=tuple(map(move, document.pages)),
        places=tuple(DocumentPlace(move(place.start), place.label) for place in document.places),
        words=tuple(sorted([*(w._replace(start=move(w.start), end=move(w.end)) for w in document.words), *words])),
        figures=tuple(
            figure._replace(start=move(figure.start), end=move_end(figure.end) if insertion else move(figure.end))
            for figure, insertion in found
        ),
        unread=unread,
    )


def _move(word: RecognizedWord, by: int) -> RecognizedWord:
    return word._replace(start=word.start + by, end=word.end + by)


def _describe_unread(unread: str, reasons: Sequence[str]) -> str:
    """Return the unread parts in one line; a reason of the document itself comes first."""
    if not reasons:
        return unread
    distinct = list(dict.fromkeys(collapse_whitespace(reason) for reason in reasons))
    noun = "picture" if len(reasons) == 1 else "pictures"
    pictures = f"was read without {len(reasons)} {noun}: {'; '.join(distinct[:_MAX_NAMED])}"
    return f"{unread}; it {pictures}" if unread else pictures
