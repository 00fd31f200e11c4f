"""Find every sentence that contains a term in all chunks of some sources, and the documents that contain a URL.

A search ranks by similarity; this lookup answers whether and where an exact term or number occurs.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tenure.algorithms.text.known_urls import extract_urls, normalize_url
from tenure.algorithms.text.sentences import normalize_sentence, split_sentences
from tenure.algorithms.text.term_lookup import compile_term_pattern, is_definition
from tenure.algorithms.text.urls import InvalidUrlError
from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.tools import LookupReply, LookupRequest, TermMatch
from tenure.knowledge.store.catalogue import is_results_corpus
from tenure.knowledge.store.schema import SOURCES, build_chunk_table_name
from tenure.knowledge.store.store import Store

_COLUMNS = ["id", "source_id", "text", "start"]
_MAX_LINE_CHARACTERS = 400
"""Maximum length of a returned line that is not a sentence."""


class _Occurrence(NamedTuple):
    defines: bool
    source: int
    start: int
    chunk: ChunkId
    sentence: str


def find_term(store: Store, dimensions: int, request: LookupRequest) -> LookupReply:
    """Return the sentences that contain a term: definitions first, then by source and position."""
    rank = {source: number for number, source in enumerate(request.sources)}
    rows = store.read_rows_in(build_chunk_table_name(dimensions), _COLUMNS, "source_id", list(rank)).to_pylist()
    occurrences: dict[tuple[int, str], _Occurrence] = {}
    for row in rows:
        for item in _find_occurrences(row, rank[row["source_id"]], request.term):
            # Chunks overlap, and documents repeat sentences.
            occurrences.setdefault((item.source, normalize_sentence(item.sentence)), item)
    ordered = sorted(
        occurrences.values(), key=lambda occurrence: (not occurrence.defines, occurrence.source, occurrence.start)
    )
    return LookupReply(
        matches=tuple(
            TermMatch(
                passage=PassageRef(
                    chunk=occurrence.chunk,
                    source=request.sources[occurrence.source],
                    score=1 / (60 + number),
                    relevance=0.0,
                    sparse_rank=number,
                ),
                sentence=occurrence.sentence,
            )
            for number, occurrence in enumerate(ordered[: request.limit], 1)
        ),
        count=len(ordered),
    )


def count_documents_with_url(store: Store, request: LookupRequest) -> LookupReply:
    """Return the number of documents that contain exactly a URL, or were read from it.

    Results of tools, queries and programs are no documents: an agent could have them return any URL.
    """
    try:
        url = normalize_url(request.term)
    except InvalidUrlError:
        return LookupReply()
    rows = store.read_rows_in(SOURCES, ["corpus", "uri", "text"], "id", list(request.sources)).to_pylist()
    documents = [row for row in rows if not is_results_corpus(row["corpus"])]
    return LookupReply(count=sum(url in extract_urls(f"{row['uri']}\n{row['text']}") for row in documents))


def _find_occurrences(row: dict[str, Any], source: int, term: str) -> Iterator[_Occurrence]:
    """Yield the sentences of a chunk that contain a term; if there are none, the lines."""
    text, pattern = str(row["text"]), compile_term_pattern(term)
    if not pattern.search(text):
        return
    spans = [(sentence.start, sentence.text) for sentence in split_sentences(text) if pattern.search(sentence.text)]
    for start, sentence_text in spans or _find_lines(text, term):
        yield _Occurrence(
            is_definition(sentence_text, term), source, int(row["start"]) + start, ChunkId(row["id"]), sentence_text
        )


def _find_lines(text: str, term: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of tables, headings and programs that contain a term, with their offsets."""
    start = 0
    for line in text.splitlines(keepends=True):
        if compile_term_pattern(term).search(line):
            yield start, line.strip()[:_MAX_LINE_CHARACTERS]
        start += len(line)
