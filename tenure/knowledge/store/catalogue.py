"""What the knowledge base holds, row by row: corpora, sources, and passages by reference."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.text.passage import Passage
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.corpora import CorpusStats, IndexStats, TableStats
from tenure.contracts.evidence.passages import PassageRef
from tenure.knowledge.store.errors import UnknownChunk, UnknownCorpus
from tenure.knowledge.store.schema import (
    CORPORA,
    CORPORA_SCHEMA,
    ENTITIES,
    MENTIONS,
    READINGS,
    RELATIONS,
    SOURCES,
    STATEMENTS,
    chunks_table,
    is_ours,
)
from tenure.knowledge.store.store import Store, TableFigures, literal, quoted
from tenure.sources.tables.catalogue import FORMATS

_RESULTS: Final = " (results)"
"""What the corpus of results has after the name of the one they go with."""


@dataclass(frozen=True)
class SourceRecord:
    """A stored source with its full text."""

    id: SourceId
    """Its id."""
    uri: str
    """Where it is: a path or an address."""
    title: str
    """Its title."""
    author: str
    """Who wrote it, empty where unknown."""
    published: str
    """When it was published, empty where unknown."""
    accessed: str
    """When it was read, ISO 8601 in UTC."""
    kind: str
    """`prose` or `code`."""
    text: str
    """The text that chunks and citations point into."""
    pages: Sequence[int] | None = None
    """Where in the text each page begins; None for a source without pages."""
    derived: bool = False
    """Whether a run had it made: what was computed, or what a tool has answered."""

    def page(self, offset: int) -> int | None:
        """Return the number of the page that a place in the text stands on; None where there are no pages."""
        return bisect_right(self.pages, offset) if self.pages else None


class KnownFile(NamedTuple):
    """What an ingestion remembers of a file."""

    source: SourceId
    content_hash: str
    recipe: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class CorpusRecord:
    """A corpus, the model of its vectors, and the model's similarity between its unrelated chunks."""

    corpus: str
    model: str
    dimensions: int
    unrelated: float
    calibrated: str
    updated_at: str
    pending: int = 0


def now() -> str:
    """Return the present time, ISO 8601 in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def corpora(store: Store) -> dict[str, CorpusRecord]:
    """Return all corpora by name, in alphabetical order."""
    rows = store.all_rows(CORPORA, CORPORA_SCHEMA.names).to_pylist()
    return {row["corpus"]: CorpusRecord(**row) for row in sorted(rows, key=lambda row: str(row["corpus"]))}


def corpus(store: Store, name: str) -> CorpusRecord:
    """Return one corpus.

    Raises:
        UnknownCorpus: there is none of that name.
    """
    known = corpora(store)
    if name not in known:
        raise UnknownCorpus(name, tuple(known))
    return known[name]


def save_corpus(store: Store, record: CorpusRecord) -> None:
    """Write a corpus down."""
    store.merge(CORPORA, pa.Table.from_pylist([vars(record)], schema=CORPORA_SCHEMA), "corpus")


def source_ids(store: Store, name: str) -> list[SourceId]:
    """Return the ids of a corpus's sources, results of queries over its tables included."""
    rows = store.rows(SOURCES, ["id"], f"corpus IN {quoted([name, results_corpus(name)])}")
    return [SourceId(id) for id in rows["id"].to_pylist()]


def drop_corpus(store: Store, name: str) -> bool:
    """Forget a corpus with all its sources and chunks; tell whether it was there."""
    if name not in corpora(store):
        return False
    where = f"corpus IN {quoted([name, results_corpus(name)])}"
    # The corpus itself goes last: an interrupted drop can be repeated.
    for table in (*store.chunk_tables(), MENTIONS, STATEMENTS, ENTITIES, RELATIONS, READINGS, SOURCES, CORPORA):
        store.delete(table, where)
    return True


def stats(store: Store) -> tuple[CorpusStats, ...]:
    """Return what each corpus holds."""
    sums = store.rows(SOURCES, ["corpus", "chunks", "characters"]).group_by("corpus")
    held = {
        row["corpus"]: row
        for row in sums.aggregate([("corpus", "count"), ("chunks", "sum"), ("characters", "sum")]).to_pylist()
    }
    return tuple(
        CorpusStats(
            corpus=name,
            sources=held.get(name, {}).get("corpus_count", 0),
            chunks=held.get(name, {}).get("chunks_sum", 0),
            characters=held.get(name, {}).get("characters_sum", 0),
            pending=record.pending,
            embedding_model=record.model,
            updated_at=record.updated_at,
        )
        for name, record in corpora(store).items()
    )


def tables(store: Store) -> tuple[TableStats, ...]:
    """Return what each table holds and how it is indexed, by name."""
    return tuple(_table(name, store.figures(name)) for name in sorted(store.names()) if is_ours(name))


def _table(name: str, figures: TableFigures) -> TableStats:
    return TableStats(
        table=name,
        rows=figures.rows,
        size=figures.size,
        files=figures.files,
        versions=figures.versions,
        indexes=tuple(
            IndexStats(
                name=index.name,
                family=index.index_type,
                size=index.size_bytes or 0,
                rows=index.num_indexed_rows or 0,
                unindexed=index.num_unindexed_rows or 0,
            )
            for index in sorted(figures.indexes, key=lambda index: index.name)
        ),
    )


def known_files(store: Store, name: str) -> dict[str, KnownFile]:
    """Return what is remembered of a corpus's files, by their path."""
    columns = ["uri", "id", "content_hash", "recipe", "size", "mtime_ns"]
    rows = store.rows(SOURCES, columns, f"corpus = {literal(name)}")
    return {uri: KnownFile(*rest) for uri, *rest in zip(*(rows[column].to_pylist() for column in columns), strict=True)}


def results_corpus(name: str) -> str:
    """Return where results of queries over a corpus's tables are kept.

    They are evidence for the run that asked and for no other: a figure that answers one question is misleading
    next to another. So they stand outside the corpus, under a name that no search can be given.
    """
    return f"{name}{_RESULTS}"


def tabular(store: Store, names: Sequence[str]) -> list[dict[str, str]]:
    """Return `uri`, `corpus` and `text` of the files of corpora that hold tables, by their paths."""
    like = " OR ".join(f"lower(uri) LIKE '%{suffix}'" for suffix in FORMATS)
    rows = store.rows(
        SOURCES, ["uri", "corpus", "text"], f"corpus IN {quoted(names)} AND ({like}) AND uri NOT LIKE '%://%'"
    )
    return sorted(rows.to_pylist(), key=lambda row: (row["uri"], row["corpus"]))


def sources(store: Store, ids: Sequence[SourceId]) -> dict[SourceId, SourceRecord]:
    """Return the sources with these ids; ids of sources that are gone are absent."""
    columns = ["id", "uri", "title", "author", "published", "fetched_at", "kind", "text", "pages", "corpus"]
    rows = store.rows_in(SOURCES, columns, "id", list(dict.fromkeys(ids))).rename_columns(
        ["accessed" if column == "fetched_at" else column for column in columns]
    )
    return {SourceId(row["id"]): _record(**row) for row in rows.to_pylist()}


def _record(corpus: str, **row: Any) -> SourceRecord:
    return SourceRecord(**row, derived=corpus.endswith(_RESULTS))


def sources_of(store: Store, ids: Sequence[SourceId]) -> dict[SourceId, str]:
    """Return the corpus of each source, ids of sources that are gone absent."""
    rows = store.rows_in(SOURCES, ["id", "corpus"], "id", list(dict.fromkeys(ids)))
    return {SourceId(row["id"]): row["corpus"] for row in rows.to_pylist()}


def passages(store: Store, dimensions: int, refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
    """Return the passages behind the references, in their order, each with its reference's relevance.

    Raises:
        UnknownChunk: one of them is not stored.
    """
    columns = ["id", "source_id", "title", "uri", "heading_path", "text", "start", "end", "kind"]
    wanted = list(dict.fromkeys(ref.chunk for ref in refs))
    rows = {row["id"]: row for row in store.rows_in(chunks_table(dimensions), columns, "id", wanted).to_pylist()}
    if missing := [chunk for chunk in wanted if chunk not in rows]:
        raise UnknownChunk(missing)
    return tuple(_passage(rows[ref.chunk], ref) for ref in refs)


def _passage(row: dict[str, object], ref: PassageRef) -> Passage:
    path = row["heading_path"]
    return Passage(
        chunk=ref.chunk,
        source=SourceId(str(row["source_id"])),
        title=str(row["title"]),
        uri=str(row["uri"]),
        heading_path=tuple(path) if isinstance(path, list) else (),
        text=str(row["text"]),
        start=int(str(row["start"])),
        end=int(str(row["end"])),
        kind=str(row["kind"]),
        relevance=ref.relevance,
    )


def chunk_count(store: Store, dimensions: int, name: str) -> int:
    """Count a corpus's chunks."""
    return store.count(chunks_table(dimensions), f"corpus = {literal(name)}")


def unembedded(store: Store, dimensions: int, name: str) -> list[str]:
    """Return the ids of a corpus's chunks that have no vector, sorted."""
    rows = store.rows(chunks_table(dimensions), ["id"], f"corpus = {literal(name)} AND vector IS NULL")
    return sorted(rows["id"].to_pylist())


def embedded_share(store: Store, dimensions: int, records: Sequence[CorpusRecord]) -> float:
    """Return the share of the chunks of corpora that have a vector; 1 where there are none."""
    pending = sum(record.pending for record in records)
    if not pending:
        return 1.0
    chunks = sum(chunk_count(store, dimensions, record.corpus) for record in records)
    return max(0.0, 1.0 - pending / chunks) if chunks else 1.0


def chunk_origins(store: Store, dimensions: int, name: str) -> list[tuple[str, str]]:
    """Return (chunk id, source id) of every chunk of a corpus, sorted."""
    rows = store.rows(chunks_table(dimensions), ["id", "source_id"], f"corpus = {literal(name)}")
    order = pc.sort_indices(rows["id"])
    return list(zip(rows["id"].take(order).to_pylist(), rows["source_id"].take(order).to_pylist(), strict=True))
