"""Pictures of stored documents: find those that passages refer to, draw them, and store what a model has read."""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Final, NamedTuple

from tenure.algorithms.chunking.figure_labels import list_figure_references
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.figures import Figure
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.places import DocumentPlace, is_archive, is_presentation
from tenure.contracts.research.pictures import (
    PictureRef,
    ReadPicture,
    ShownPicture,
    StorePicturesRequest,
    is_picture_reading,
    make_picture_uri,
)
from tenure.knowledge.corpora import Corpora
from tenure.knowledge.ingestion.results import StoredResults
from tenure.knowledge.store.catalogue import SourceRecord
from tenure.knowledge.store.schema import make_source_id
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter

_MODEL_SIDE: Final = 1200
"""Pixels of the longer side that a model is shown; servers scale larger pictures to about this size."""
_REPORT_SIDE: Final = 800
"""Pixels of the longer side in a report."""
MAX_REPORT_BYTES: Final = 500_000
"""Characters of all pictures of a report: the result travels in one payload of at most 2 MB."""
_RANK_WEIGHT: Final = 0.3
"""Weight of the rank of a passage against the similarity of question and caption, which is at most 1."""


class _Candidate(NamedTuple):
    score: float
    picture: PictureRef


class Pictures:
    """Pictures of the documents of a knowledge base."""

    def __init__(self, corpora: Corpora, results: StoredResults, encode: Encoder) -> None:
        self._corpora, self._results, self._encode = corpora, results, encode

    def find_pictures(self, passages: Sequence[Passage], question: str, limit: int) -> tuple[PictureRef, ...]:
        """Return the pictures in passages, and those that passages name, the most relevant to a question first."""
        sources = self._corpora.load_sources([passage.source for passage in passages])
        found: dict[tuple[SourceId, int], tuple[int, Figure]] = {}
        for rank, passage in enumerate(passages):
            source = sources.get(passage.source)
            if source is not None and _is_readable(source):
                for number, figure in _list_figures(source, passage):
                    found.setdefault((source.id, number), (rank, figure))
        if not found:
            return ()
        texts = [figure.caption or sources[source].title for (source, _), (_, figure) in found.items()]
        asked, *captions = self._encode([question, *texts])
        candidates = [
            _Candidate(
                float(vector @ asked) + _RANK_WEIGHT / (1 + rank),
                PictureRef(
                    source=source,
                    number=number,
                    title=sources[source].title,
                    label=figure.label,
                    caption=figure.caption,
                    page=figure.page or sources[source].find_page(figure.start) or 0,
                    on_slide=is_presentation(sources[source].uri),
                ),
            )
            for ((source, number), (rank, figure)), vector in zip(found.items(), captions, strict=True)
        ]
        best = sorted(candidates, key=lambda candidate: -candidate.score)[:limit]
        return tuple(candidate.picture for candidate in best)

    def load_picture(self, picture: PictureRef) -> ShownPicture | None:
        """Return a picture as a model is shown it; None if its file has changed or is damaged."""
        source = self._corpora.load_sources([picture.source]).get(picture.source)
        if source is None or picture.number >= len(source.figures):
            return None
        digest = hashlib.sha256(f"{source.content_hash} {picture.number}".encode()).digest()
        check = str(1000 + int.from_bytes(digest[:4]) % 9000)
        try:
            image = self._corpora.draw_figure(source, source.figures[picture.number], _MODEL_SIDE, check).image
        except Unreadable:
            return None
        return ShownPicture(f"data:image/jpeg;base64,{base64.b64encode(image).decode()}", check)

    def draw_readings(self, sources: Iterable[SourceRecord]) -> dict[SourceId, str]:
        """Return the pictures of readings as JPEG images in Base64, as far as they are readable and not too many."""
        drawn: dict[SourceId, str] = {}
        rest = MAX_REPORT_BYTES
        for source in sources:
            if not is_picture_reading(source.uri) or not source.figures:
                continue
            try:
                image = base64.b64encode(self._corpora.draw_reading(source, _REPORT_SIDE).image).decode()
            except Unreadable:
                continue  # the text of the reading is still a source
            if len(image) <= rest:
                drawn[source.id] = image
                rest -= len(image)
        return drawn

    def store_readings(self, request: StorePicturesRequest) -> tuple[PassageRef, ...]:
        """Store readings as sources that name their document, page and figure; return their passages."""
        sources = self._corpora.load_sources([entry.picture.source for entry in request.read])
        passages: list[PassageRef] = []
        for entry in request.read:
            source = sources.get(entry.picture.source)
            corpus = next((name for name in request.corpora if source and _is_of(source, name)), None)
            if source is not None and corpus is not None:
                document = _write_reading(entry, source.figures[entry.picture.number])
                uri = make_picture_uri(source.uri, entry.picture.number)
                passages += self._results.store_result(corpus, uri, document, request.question)
        return tuple(passages)


def _is_readable(source: SourceRecord) -> bool:
    """Return whether the file of a source can be drawn: neither a page of the web nor a file of an archive."""
    return "://" not in source.uri and not any(is_archive(str(folder)) for folder in PurePath(source.uri).parents)


def _is_of(source: SourceRecord, corpus: str) -> bool:
    return make_source_id(corpus, source.uri) == source.id


def _list_figures(source: SourceRecord, passage: Passage) -> Iterator[tuple[int, Figure]]:
    """Yield the pictures in a passage, and those whose labels it names."""
    references = list_figure_references(passage.text)
    for number, figure in enumerate(source.figures):
        is_inside = figure.start < passage.end and passage.start < max(figure.end, figure.start + 1)
        if is_inside or (figure.label and figure.label in references):
            yield number, figure


def _write_reading(entry: ReadPicture, figure: Figure) -> Document:
    picture, reading = entry.picture, entry.reading
    form = NormalFormWriter()
    form.add_heading(1, picture.name)
    if picture.caption:
        form.add_paragraph(picture.caption)
    form.add_paragraph(f"A {reading.kind}. {reading.description}" if reading.kind != "text" else reading.description)
    for value in reading.values:
        form.add_item(f"{value.label}: {value.value} {value.unit}".rstrip())
    form.close_items()
    return Document(
        title=picture.name,
        text=form.text,
        kind="prose",
        pages=(0,) * picture.page,  # the pages before have no text here
        places=(DocumentPlace(0, picture.label),) if picture.label else (),
        figures=(figure,),
    )
