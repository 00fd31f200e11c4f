"""Read passages and parts of sources for readers, with the text around them."""

import base64
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from tenure.contracts.evidence.corpora import CorpusRequest, StoredPassage, TextRange
from tenure.contracts.evidence.places import is_archive
from tenure.contracts.research.pictures import is_picture_reading
from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.registry import find_format
from tenure.sources.tables.catalogue import TABLE_FORMATS

if TYPE_CHECKING:
    from tenure.knowledge.corpora import Corpora
    from tenure.knowledge.store.catalogue import SourceRecord
    from tenure.sources.parsers.reader_process import DrawnPage
_DRAWN = ("parse_pdf", "parse_picture", "parse_pptx")
"""Parsers of the files whose pages can be drawn."""
_PICTURE_SIDE = 1000
"""Pixels of the longer side of a picture that a model has read."""
MAX_TEXT_CHARS = 700  # A chunk of 200 tokens has about as many.

MAX_RANGE_CHARS = 4_000
"""Maximum length of a part of a source."""

CONTEXT_CHARS = 1_500
"""Maximum length of the text on either side of a part of a source."""


def read_stored_passages(corpora: "Corpora", request: CorpusRequest) -> tuple[StoredPassage, ...]:
    """Return the passages of a request, then its part of a source if that is still stored."""
    passages = [
        StoredPassage(
            chunk=passage.chunk,
            source=passage.source,
            title=passage.title,
            uri=passage.uri,
            text=passage.text[:MAX_TEXT_CHARS],
        )
        for passage in corpora.load_passages(request.passages)
    ]
    if request.range is not None:
        passages += _cut(corpora, request.range)
    return tuple(passages)


def _cut(corpora: "Corpora", part: TextRange) -> list[StoredPassage]:
    source = corpora.load_sources([part.source]).get(part.source)
    if source is None or not part.start < part.end <= len(source.text):
        return []
    end = min(part.end, part.start + MAX_RANGE_CHARS)
    picture = _draw(corpora, source, part.start, end) if part.with_picture else {}
    return [
        StoredPassage(
            source=part.source,
            title=source.title,
            uri=source.uri,
            text=source.text[part.start : end],
            before=source.text[max(0, part.start - CONTEXT_CHARS) : part.start],
            after=source.text[end : end + CONTEXT_CHARS],
            page=source.find_page(part.start),
            **picture,
        )
    ]


def _draw(corpora: "Corpora", source: "SourceRecord", start: int, end: int) -> dict[str, Any]:
    """Return the page, slide, cells or figure of a quote, or the reason for missing ones; nothing without a place."""
    try:
        drawn = _draw_place(corpora, source, start, end)
    except Unreadable as error:
        return {"no_picture": error.reason}
    if drawn is None:
        return {}
    picture = base64.b64encode(drawn.image).decode()
    return {"picture": picture, "picture_type": drawn.media_type, "window": drawn.window}


def _draw_place(corpora: "Corpora", source: "SourceRecord", start: int, end: int) -> "DrawnPage | None":
    if is_picture_reading(source.uri):
        return corpora.draw_reading(source, _PICTURE_SIDE)
    path = PurePath(source.uri)
    format = find_format(path.suffix.lower())
    is_drawn = format is not None and format.parser in _DRAWN
    in_cells = path.suffix.lower() in TABLE_FORMATS and source.find_cells(start, end) is not None
    if not (is_drawn or in_cells) or "://" in source.uri:
        return None
    if any(is_archive(str(folder)) for folder in path.parents):
        raise Unreadable("is in an archive")
    return corpora.draw_page(source, start, end)
