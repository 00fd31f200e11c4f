"""Read passages and parts of sources for readers, with the text around them."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from tenure.algorithms.text.passage import Passage
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.corpora import CorpusRequest, StoredPassage, TextRange
from tenure.contracts.evidence.passages import PassageRef

MAX_TEXT_CHARS = 700
"""Maximum length of the text of a passage."""

MAX_RANGE_CHARS = 4_000
"""Maximum length of a part of a source."""

CONTEXT_CHARS = 1_500
"""Maximum length of the text on either side of a part of a source."""


class StoredText(Protocol):
    """Stored source."""

    @property
    def uri(self) -> str:
        """Path or URL."""

    @property
    def title(self) -> str:
        """Title."""

    @property
    def text(self) -> str:
        """Full text."""

    def find_page(self, offset: int) -> int | None:
        """Return the page number of an offset."""


class PassageStore(Protocol):
    """Store of passages and sources."""

    def load_passages(self, refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
        """Return the passages of references."""

    def load_sources(self, ids: Sequence[SourceId]) -> Mapping[SourceId, StoredText]:
        """Return stored sources, without those that are deleted."""


def read_stored_passages(store: PassageStore, request: CorpusRequest) -> tuple[StoredPassage, ...]:
    """Return the passages of a request, then its part of a source if that is still stored.

    Raises:
        UnknownChunk: a passage is not stored.
    """
    found = [
        StoredPassage(
            chunk=passage.chunk,
            source=passage.source,
            title=passage.title,
            uri=passage.uri,
            text=passage.text[:MAX_TEXT_CHARS],
        )
        for passage in store.load_passages(request.passages)
    ]
    if request.range is not None:
        found += _cut(store, request.range)
    return tuple(found)


def _cut(store: PassageStore, part: TextRange) -> list[StoredPassage]:
    source = store.load_sources([part.source]).get(part.source)
    if source is None or not part.start < part.end <= len(source.text):
        return []
    end = min(part.end, part.start + MAX_RANGE_CHARS)
    return [
        StoredPassage(
            source=part.source,
            title=source.title,
            uri=source.uri,
            text=source.text[part.start : end],
            before=source.text[max(0, part.start - CONTEXT_CHARS) : part.start],
            after=source.text[end : end + CONTEXT_CHARS],
            page=source.find_page(part.start),
        )
    ]
