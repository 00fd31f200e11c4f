"""Read and write the records of corpora, sources and passages."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.text.passage import Passage
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.corpora import CorpusDocument, CorpusStats, DocumentChoice, TableStats
from tenure.contracts.evidence.figures import Figure
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.places import CellRange, DocumentPlace, join_places, parse_cells
from tenure.contracts.evidence.recognition import RecognizedWord
from tenure.knowledge.store.errors import CorruptTable, UnknownChunk, UnknownCorpus
from tenure.knowledge.store.schema import (
    CORPORA,
    CORPORA_SCHEMA,
    ENTITIES,
    GRAPHS,
    MENTIONS,
    READINGS,
    RELATIONS,
    SOURCES,
    STATEMENTS,
    build_chunk_table_name,
    is_knowledge_table,
    make_chunk_id,
)
from tenure.knowledge.store.store import Store, quote_list, quote_literal
from tenure.sources.tables.catalogue import DOCUMENT_SUFFIXES, TABLE_FORMATS

_RESULTS_SUFFIX: Final = " (results)"
"""Suffix of the corpus that holds the results of a corpus."""


@dataclass(frozen=True)
class SourceRecord:
    """Stored source with its full text."""

    id: SourceId
    uri: str
    """Path of the file, or URL."""
    title: str
    author: str
    published: str
    accessed: str
    """Time at which the source was read, ISO 8601 in UTC."""
    kind: str
    """`prose` or `code`."""
    text: str
    """Text that chunks and citations refer to by offset."""
    pages: Sequence[int] | None = None
    """Offset in the text at which each page starts; None if the source has no pages."""
    places: Sequence[DocumentPlace] = ()
    """Other parts in reading order."""
    words: Sequence[RecognizedWord] = ()
    """Recognized words in reading order; empty for a source that is text."""
    figures: Sequence[Figure] = ()
    """Pictures in the document, in reading order."""
    derived: bool = False
    """Whether a run created the source: output of a program, a query or a tool."""
    content_hash: str = ""
    """Hash of the bytes of its file."""
    size: int = 0
    """Size of its file in bytes."""
    is_retired: bool = False
    """Whether it calls itself deprecated or retired."""

    def find_words(self, start: int, end: int) -> Sequence[RecognizedWord]:
        """Return the recognized words between two offsets, with those that lie there in part."""
        first = bisect_right(self.words, start, key=lambda word: word.end)
        return self.words[first : bisect_left(self.words, end, key=lambda word: word.start)]

    def find_page(self, offset: int) -> int | None:
        """Return the page number of an offset in the text, counted from 1; None if the source has no pages."""
        return bisect_right(self.pages, offset) if self.pages else None

    def find_place(self, offset: int) -> str:
        """Return the label of the part at an offset in the text; empty without one."""
        count = bisect_right(self.places, offset, key=lambda place: place.start)
        return self.places[count - 1].label if count else ""

    def find_cells(self, start: int, end: int) -> CellRange | None:
        """Return the cells of a sheet between two offsets in the text, or None if they are not in cells."""
        return parse_cells(join_places(self.find_place(start), self.find_place(end - 1)))


class KnownFile(NamedTuple):
    """File as an earlier ingestion has seen it."""

    source: SourceId
    content_hash: str
    recipe: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class CorpusRecord:
    """Corpus, its embedding model, and the baseline similarity (μ) of that model in it."""

    corpus: str
    model: str
    dimensions: int
    baseline: float
    calibrated: str
    updated_at: str
    pending: int = 0
    languages: Mapping[str, int] = field(default_factory=dict)
    """Number of its chunks by language, an ISO 639-1 code, the most frequent first."""


def format_utc_now() -> str:
    """Return the current time, ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def list_corpora(store: Store) -> dict[str, CorpusRecord]:
    """Return all corpora by name, in alphabetical order."""
    rows = store.read_small_table(CORPORA, CORPORA_SCHEMA.names).to_pylist()
    records = (
        CorpusRecord(**row | {"languages": {entry["code"]: entry["chunks"] for entry in row["languages"]}})
        for row in rows
    )
    return {record.corpus: record for record in sorted(records, key=lambda record: record.corpus)}


def load_corpus(store: Store, name: str) -> CorpusRecord:
    """Return one corpus."""
    return select_corpus(list_corpora(store), name)


def select_corpus(corpora: Mapping[str, CorpusRecord], name: str) -> CorpusRecord:
    """Return one of the known corpora."""
    if name not in corpora:
        raise UnknownCorpus(name, tuple(corpora))
    return corpora[name]


def save_corpus(store: Store, record: CorpusRecord) -> None:
    """Insert or replace a corpus record."""
    languages = [{"code": code, "chunks": chunks} for code, chunks in record.languages.items()]
    row = vars(record) | {"languages": languages}
    store.upsert(CORPORA, pa.Table.from_pylist([row], schema=CORPORA_SCHEMA), "corpus")


def list_source_ids(store: Store, name: str) -> list[SourceId]:
    """Return the ids of all sources of a corpus, including stored results."""
    rows = store.read_rows(SOURCES, ["id"], f"corpus IN {quote_list([name, derive_results_corpus(name)])}")
    return [SourceId(id) for id in rows["id"].to_pylist()]


def drop_corpus(store: Store, name: str) -> bool:
    """Delete a corpus with its sources and chunks; return False if there is no such corpus."""
    if name not in list_corpora(store):
        return False
    where = f"corpus IN {quote_list([name, derive_results_corpus(name)])}"
    # The corpus record is deleted last, so that an interrupted drop can be repeated.
    derived = (MENTIONS, STATEMENTS, ENTITIES, RELATIONS, GRAPHS, READINGS)
    for table in (*store.list_chunk_tables(), *derived, SOURCES, CORPORA):
        store.delete_rows(table, where)
    return True


def delete_results(store: Store, name: str) -> None:
    """Delete the results of a corpus, which need not exist itself."""
    where = f"corpus = {quote_literal(derive_results_corpus(name))}"
    for table in {*store.list_chunk_tables(), SOURCES}.intersection(store.list_table_names()):
        store.delete_rows(table, where)


def summarize_corpora(store: Store) -> tuple[CorpusStats, ...]:
    """Return the size and state of each corpus."""
    sums = store.read_rows(SOURCES, ["corpus", "chunks", "characters"]).group_by("corpus")
    sums_by_corpus = {
        row["corpus"]: row
        for row in sums.aggregate([("corpus", "count"), ("chunks", "sum"), ("characters", "sum")]).to_pylist()
    }
    return tuple(
        CorpusStats(
            corpus=name,
            sources=sums_by_corpus.get(name, {}).get("corpus_count", 0),
            chunks=sums_by_corpus.get(name, {}).get("chunks_sum", 0),
            characters=sums_by_corpus.get(name, {}).get("characters_sum", 0),
            pending=record.pending,
            embedding_model=record.model,
            updated_at=record.updated_at,
        )
        for name, record in list_corpora(store).items()
    )


def list_documents(store: Store, name: str, chosen: DocumentChoice) -> tuple[tuple[CorpusDocument, ...], int]:
    """Return a page of the documents of a corpus by title, and the number of all that match."""
    columns = ["id", "title", "uri", "published", "fetched_at", "chunks", "characters"]
    rows = store.read_rows(SOURCES, columns, f"corpus = {quote_literal(name)}").to_pylist()
    words = chosen.words.casefold().split()
    found = [row for row in rows if all(word in f"{row['title']}\n{row['uri']}".casefold() for word in words)]
    found.sort(key=lambda row: (row["title"].casefold(), row["uri"]))
    page = found[chosen.offset : chosen.offset + chosen.limit]
    return tuple(CorpusDocument(source=SourceId(row.pop("id")), **row) for row in page), len(found)


def summarize_tables(store: Store) -> tuple[TableStats, ...]:
    """Return the size and the indexes of each table, sorted by name."""
    return tuple(store.describe_table(name) for name in sorted(store.list_table_names()) if is_knowledge_table(name))


def list_known_files(store: Store, name: str) -> dict[str, KnownFile]:
    """Return the files of a corpus that earlier ingestions have read, by path."""
    columns = ["uri", "id", "content_hash", "recipe", "size", "mtime_ns"]
    rows = store.read_rows(SOURCES, columns, f"corpus = {quote_literal(name)}")
    return {uri: KnownFile(*rest) for uri, *rest in zip(*(rows[column].to_pylist() for column in columns), strict=True)}


def derive_results_corpus(name: str) -> str:
    """Return the name of the corpus with the query and tool results of a corpus.

    Results are evidence only for the run that produced them, because a figure that answers one question misleads next
    to
    another. Their corpus has a name that no search request can contain.
    """
    return f"{name}{_RESULTS_SUFFIX}"


def is_results_corpus(name: str) -> bool:
    """Return whether a corpus contains query and tool results."""
    return name.endswith(_RESULTS_SUFFIX)


def list_table_files(store: Store, names: Sequence[str], characters: int) -> list[dict[str, str]]:
    """Return the files with tables in some corpora, sorted by path: `uri`, `corpus`, and the beginning of `text`."""
    like = " OR ".join(f"lower(uri) LIKE '%{suffix}'" for suffix in TABLE_FORMATS)
    documents = " OR ".join(f"lower(uri) LIKE '%{suffix}'" for suffix in DOCUMENT_SUFFIXES)
    rows = store.read_rows(
        SOURCES,
        {"uri": "uri", "corpus": "corpus", "text": f"left(text, {characters})"},
        f"corpus IN {quote_list(names)} AND uri NOT LIKE '%://%' AND "
        f"({like} OR (({documents}) AND (text LIKE '| %' OR text LIKE '%\n| %')))",
    )
    return sorted(rows.to_pylist(), key=lambda row: (row["uri"], row["corpus"]))


def load_text(store: Store, corpus: str, uri: str) -> str:
    """Return the text of a source; empty if it was deleted."""
    where = f"corpus = {quote_literal(corpus)} AND uri = {quote_literal(uri)}"
    return "".join(store.read_rows(SOURCES, ["text"], where, limit=1)["text"].to_pylist())


def find_document(store: Store, uri: str) -> SourceRecord | None:
    """Return the source with a path that is no result of a run, or None if it was deleted."""
    rows = store.read_rows(SOURCES, ["id", "corpus"], f"uri = {quote_literal(uri)}").to_pylist()
    ids = [SourceId(row["id"]) for row in rows if not is_results_corpus(row["corpus"])]
    return next(iter(load_sources(store, ids).values()), None)


def load_sources(store: Store, ids: Sequence[SourceId]) -> dict[SourceId, SourceRecord]:
    """Return the sources with these ids, without those that are deleted."""
    texts = ("id", "uri", "title", "author", "published", "fetched_at", "kind", "content_hash", "text", "corpus")
    columns = [*texts, "size", "retired", "pages", "places", "words", "figures"]
    names = {"fetched_at": "accessed", "retired": "is_retired"}
    rows = store.read_rows_in(SOURCES, columns, "id", list(dict.fromkeys(ids))).rename_columns(
        [names.get(column, column) for column in columns]
    )
    derived = [is_results_corpus(corpus) for corpus in rows["corpus"].to_pylist()]
    records = zip(rows.drop_columns("corpus").to_pylist(), derived, strict=True)
    return {
        SourceId(row["id"]): SourceRecord(
            **row
            | {
                "places": tuple(DocumentPlace(**place) for place in row["places"] or ()),
                "words": tuple(RecognizedWord(**word) for word in row["words"] or ()),
                "figures": tuple(Figure(**figure) for figure in row["figures"] or ()),
            },
            derived=is_derived,
        )
        for row, is_derived in records
    }


def load_passages(store: Store, dimensions: int, refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
    """Return the passages of references, in their order and with their relevance.

    Raises:
        UnknownChunk: a chunk is not stored.
        CorruptTable: the text of a chunk is not the one that was stored.
    """
    columns = [
        "id",
        "source_id",
        "title",
        "uri",
        "heading_path",
        "text",
        "start",
        "end",
        "kind",
        "published",
        "retired",
    ]
    distinct = list(dict.fromkeys(ref.chunk for ref in refs))
    table = build_chunk_table_name(dimensions)
    rows = {row["id"]: row for row in store.read_rows_in(table, columns, "id", distinct).to_pylist()}
    # The database does not detect inverted bits, and a changed text would be quoted.
    if any(make_chunk_id(row["source_id"], row["start"], row["end"], row["text"]) != id for id, row in rows.items()):
        raise CorruptTable(table, store.uri, "a text does not match its id")
    if missing := [chunk for chunk in distinct if chunk not in rows]:
        raise UnknownChunk(missing)
    return tuple(_to_passage(rows[ref.chunk], ref) for ref in refs)


def _to_passage(row: dict[str, Any], ref: PassageRef) -> Passage:
    names = ("title", "uri", "text", "start", "end", "kind", "published")
    return Passage(
        chunk=ref.chunk,
        source=SourceId(row["source_id"]),
        heading_path=tuple(row["heading_path"]),
        relevance=ref.relevance,
        is_retired=row["retired"] == "yes",
        **{name: row[name] for name in names},
    )


def count_chunks(store: Store, dimensions: int, name: str) -> int:
    """Return the number of chunks of a corpus."""
    return store.count_rows(build_chunk_table_name(dimensions), f"corpus = {quote_literal(name)}")


def list_unembedded_chunks(store: Store, dimensions: int, name: str) -> list[str]:
    """Return the sorted ids of the chunks of a corpus that have no vector."""
    rows = store.read_rows(
        build_chunk_table_name(dimensions), ["id"], f"corpus = {quote_literal(name)} AND vector IS NULL"
    )
    return sorted(rows["id"].to_pylist())


def count_languages(store: Store, dimensions: int, name: str) -> dict[str, int]:
    """Return the number of chunks of a corpus by language, the most frequent first."""
    where = f"corpus = {quote_literal(name)} AND language != ''"
    rows = store.read_rows(build_chunk_table_name(dimensions), ["language"], where)
    return dict(Counter(rows["language"].to_pylist()).most_common())


def compute_embedded_share(store: Store, dimensions: int, records: Sequence[CorpusRecord]) -> float:
    """Return the share of chunks that have a vector, from 0 to 1; 1 for empty corpora."""
    pending = sum(record.pending for record in records)
    if not pending:
        return 1.0
    chunks = sum(count_chunks(store, dimensions, record.corpus) for record in records)
    return max(0.0, 1.0 - pending / chunks) if chunks else 1.0


def list_chunk_origins(store: Store, dimensions: int, name: str) -> list[tuple[str, str]]:
    """Return (chunk id, source id) of every chunk of a corpus, sorted by chunk id."""
    rows = store.read_rows(build_chunk_table_name(dimensions), ["id", "source_id"], f"corpus = {quote_literal(name)}")
    order = pc.sort_indices(rows["id"])
    return list(zip(rows["id"].take(order).to_pylist(), rows["source_id"].take(order).to_pylist(), strict=True))
