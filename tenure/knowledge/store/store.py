"""The door to LanceDB: opening tables, reading rows, and commits that other writers cannot spoil.

Nothing in Tenure but this module and `indexes` imports lancedb. Every write here is idempotent (merge by
key, or deletion), so a commit that lost a race is simply made again after a random pause.
"""

import os
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

# The database's Rust side writes warnings to the terminal unless told otherwise before it is loaded.
os.environ.setdefault("LANCE_LOG", "error")

import lancedb
import pyarrow as pa
from lancedb.db import LanceDBConnection
from lancedb.index import IndexConfig
from lancedb.query import BooleanQuery, FullTextQuery, LanceVectorQueryBuilder, MatchQuery, Occur, PhraseQuery
from lancedb.table import LanceTable, Table

from tenure.algorithms.text.passage import Vectors
from tenure.contracts.evidence.corpora import VectorIndex
from tenure.knowledge.memory import migration as old_memories
from tenure.knowledge.store import indexes
from tenure.knowledge.store.errors import CommitConflict, CorruptTable, StoreUnreachable
from tenure.knowledge.store.schema import (
    CHUNKS_PREFIX,
    MEMORIES_PREFIX,
    MENTIONS,
    SCHEMAS,
    chunks_schema,
    key_of,
    memories_schema,
)

KEEP_VERSIONS = timedelta(days=2)
"""Age at which an old version of a table may go. The longest activity may take a day, and whatever it opened stays."""
_ALL_VERSIONS = timedelta(days=36_500)
_CLOCKS = timedelta(minutes=1)
"""By how much the clocks of two machines may differ."""
_ATTEMPTS = 40
_IN_LIST = 500
_AT_ONCE = 2_000
"""Rows of an older version that are brought to the present one at once."""
_CANDIDATES = 100
"""At least so many rows, and as many as are wanted, are compared by their full vectors (DESIGN §6)."""
_PROBES = 20
"""Partitions of the vector index that are looked into at least; a narrow filter makes it look into more."""
_TEXTS = ("author", "published", "suffix", "phrases", "beside")
_ADDED = dict.fromkeys(_TEXTS, "cast('' as string)") | {
    "pending": "cast(0 as bigint)",
    "cycle": "cast(0 as bigint)",
    "pages": "arrow_cast(NULL, 'List(Int64)')",
}
"""Columns that tables of older versions lack, and what stands in them until they are written anew."""
_ONCE_MENTIONS = "relations"
"""The table in which older versions kept what chunks mention."""
_PHRASE = re.compile(r'"([^"]*)"')

T = TypeVar("T")


class TableFigures(NamedTuple):
    """What a table and its indexes hold."""

    rows: int
    size: int
    """Bytes of its newest version, indexes included."""
    files: int
    """Files of rows."""
    versions: int
    indexes: tuple[IndexConfig, ...]


def literal(value: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def quoted(values: Sequence[str]) -> str:
    """Return texts as an SQL list."""
    return "(" + ", ".join(map(literal, values)) + ")"


def storage_options(uri: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return how to reach the object store of an address, as far as the database does not find out by itself.

    It reads keys, tokens and profiles from the usual `AWS_*` variables, but not the region and the address
    under the names that most tools use for them.
    """
    if not uri.startswith("s3://"):
        return {}
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    options = {"region": region, "endpoint": endpoint}
    if endpoint and endpoint.startswith("http://"):
        options["allow_http"] = "true"
    return {name: value for name, value in options.items() if value}


class Store:
    """The tables of one knowledge base; safe to share between threads, and between processes by its address."""

    def __init__(self, uri: str, vector_index: VectorIndex = "auto") -> None:
        """Connect to the folder or object store at `uri`; a folder is made where there is none.

        Raises:
            StoreUnreachable: it cannot be looked into.
        """
        self.uri = uri
        self._vector_index = vector_index
        self._lock = threading.Lock()
        self._tables: dict[str, Table] = {}
        self._small: dict[str, tuple[int, pa.Table]] = {}
        # Interval 0: every read sees what other processes committed before it.
        options = storage_options(uri, os.environ)
        with self._reachable():
            self._db = lancedb.connect(uri, read_consistency_interval=timedelta(0), storage_options=options or None)

    @property
    def folder(self) -> Path | None:
        """The local folder, None for an object store."""
        return None if "://" in self.uri else Path(self.uri)

    def names(self) -> tuple[str, ...]:
        """Return the names of all tables.

        Raises:
            StoreUnreachable: the folder or object store cannot be looked into.
        """
        with self._reachable():
            return tuple(self._db.list_tables().tables)

    def chunk_tables(self) -> tuple[str, ...]:
        """Return the names of the tables of chunks, whatever their vectors' size."""
        return tuple(name for name in self.names() if name.startswith(CHUNKS_PREFIX))

    def table(self, name: str) -> Table:
        """Open a table, making it first where it is missing, and adding columns that an older version did not have.

        Raises:
            CorruptTable: there is something of that name, but it is not the table it should be.
        """
        with self._lock:
            if name not in self._tables:
                with self._readable(name):
                    table = self._retry(name, lambda: self._opened(name))
                if set(table.schema.names) != set(_schema(name).names):
                    raise CorruptTable(name, self.uri, f"unexpected columns {table.schema.names}")
                self._tables[name] = table
            return self._tables[name]

    def _opened(self, name: str) -> Table:
        schema = _schema(name)
        if name in (MENTIONS, _ONCE_MENTIONS):
            self._rename_mentions()
        if name not in self.names():
            return self._db.create_table(name, schema=schema, exist_ok=True)
        table = self._db.open_table(name)
        if name.startswith(MEMORIES_PREFIX):
            self._make_whole(table)
        missing = [field for field in schema.names if field not in table.schema.names]
        if missing and _ADDED.keys() >= set(missing):
            table.add_columns({field: _ADDED[field] for field in missing})
        if name.startswith(CHUNKS_PREFIX) and "vector" in table.schema.names and not _nullable(table):
            table.alter_columns(cast(Any, {"path": "vector", "nullable": True}))  # its annotation is too narrow
        if key_of(table.schema) is None and (key := key_of(schema)) is not None:
            cast(LanceTable, table).set_unenforced_primary_key(key)
        return table

    def _make_whole(self, table: Table) -> None:
        """Let each memory of an older version stand whole in one column; one that was interrupted goes on."""
        once = [field for field in old_memories.ONCE if field in table.schema.names]
        if not once:
            return
        if "memory" not in table.schema.names:
            table.add_columns({"memory": "cast('' as string)"})
        while (rows := table.search().where("memory = ''").limit(_AT_ONCE).to_arrow()).num_rows:
            memories = pa.array([old_memories.whole(row) for row in rows.drop_columns("vector").to_pylist()])
            place = rows.schema.get_field_index("memory")
            filled = rows.set_column(place, rows.schema.field(place), memories).select(table.schema.names)
            table.merge_insert("id").when_matched_update_all().execute(filled)
        table.drop_columns(once)

    def _rename_mentions(self) -> None:
        """Move what an older version wrote of mentions to where it belongs."""
        if _ONCE_MENTIONS in self.names():
            old = self._db.open_table(_ONCE_MENTIONS)
            if set(old.schema.names) == set(SCHEMAS[MENTIONS].names) - _ADDED.keys():
                self._db.create_table(MENTIONS, old.search().limit(None).to_batches(), exist_ok=True)
                cast(LanceDBConnection, self._db).drop_table(_ONCE_MENTIONS, ignore_missing=True)

    def rows(self, name: str, columns: Sequence[str], where: str | None = None) -> pa.Table:
        """Return the given columns of all rows that meet the condition."""
        query = self.table(name).search().select(list(columns))
        with self._readable(name):
            return (query.where(where) if where else query).limit(None).to_arrow()

    def some_rows(self, name: str, columns: Sequence[str], where: str, limit: int) -> pa.Table:
        """Return the given columns of some of the rows that meet the condition."""
        query = self.table(name).search().select(list(columns))
        with self._readable(name):
            return (query.where(where) if where else query).limit(limit).to_arrow()

    def batches(self, name: str, columns: Sequence[str], where: str, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows that meet the condition, no more than `size` of them in memory at once."""
        query = self.table(name).search().select(list(columns))
        with self._readable(name):
            yield from (query.where(where) if where else query).limit(None).to_batches(batch_size=size)

    def all_rows(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Return all rows of a small table, read anew only when somebody has written to it."""
        table = self.table(name)
        with self._readable(name):
            version = table.version
        known, rows = self._small.get(name, (0, None))
        if rows is None or known != version:
            rows = self.rows(name, columns)
            self._small[name] = (version, rows)
        return rows

    def rows_in(
        self, name: str, columns: Sequence[str], column: str, values: Sequence[str], where: str = ""
    ) -> pa.Table:
        """Return the rows whose `column` is one of the values, however many these are, and that meet the condition."""
        also = f" AND {where}" if where else ""
        parts = [self.rows(name, columns, f"{column} IN {quoted(part)}{also}") for part in _parts(values)]
        empty = pa.schema([_schema(name).field(column) for column in columns]).empty_table()
        return pa.concat_tables([part.cast(empty.schema) for part in parts]) if parts else empty

    def nearest(self, name: str, columns: Sequence[str], vector: Vectors, where: str, limit: int) -> pa.Table:
        """Return the rows with the vectors most like `vector`, and their `_distance`."""
        query = cast(LanceVectorQueryBuilder, self.table(name).search(vector, vector_column_name="vector"))
        query = query.distance_type("cosine").limit(limit)
        query = query.where(where, prefilter=True) if where else query
        # No most probes: where a filter leaves few rows, they are looked for in all partitions.
        query = query.minimum_nprobes(_PROBES).maximum_nprobes(0)
        with self._readable(name):
            # Without an index the factor has no effect; with it, quantised distances only pick the candidates.
            return query.refine_factor(max(1, -(-_CANDIDATES // limit))).select([*columns, "_distance"]).to_arrow()

    def matching(self, name: str, columns: Sequence[str], words: str, where: str, limit: int) -> pa.Table:
        """Return the rows whose text has the words, best first, and their `_score`.

        Words in quotation marks are a phrase. A phrase alone has to occur; among other words it counts beside them.
        """
        query = self.table(name).search(_full_text(words), query_type="fts", fts_columns="search_text")
        with self._readable(name):
            # Selecting `_score` by name keeps the database from warning about it.
            query = query.where(where, prefilter=True) if where else query
            return query.limit(limit).select([*columns, "_score"]).to_arrow()

    def count(self, name: str, where: str | None = None) -> int:
        """Count the rows that meet the condition."""
        with self._readable(name):
            return int(self.table(name).count_rows(where))

    def merge(self, name: str, rows: pa.Table, key: str) -> None:
        """Insert rows, replacing those with the same key."""
        if rows.num_rows:
            table = self.table(name)
            rows = rows.select(table.schema.names)  # columns added later stand last
            # The database takes a missing vector for a mistake unless told that it is none.
            absent = "null" if "vector" in rows.column_names and rows["vector"].null_count else "error"
            merge = table.merge_insert(key).when_matched_update_all().when_not_matched_insert_all()
            self._retry(name, lambda: merge.execute(rows, on_bad_vectors=absent))

    def fill(self, name: str, rows: pa.Table, key: str) -> None:
        """Write some columns of rows that are still there, and leave the others, and their indexes, as they are."""
        if rows.num_rows:
            table = self.table(name)
            self._retry(name, lambda: table.merge_insert(key).when_matched_update_all().execute(rows))

    def delete(self, name: str, where: str) -> None:
        """Delete the rows that meet the condition."""
        table = self.table(name)
        self._retry(name, lambda: table.delete(where))

    def delete_in(self, name: str, column: str, values: Sequence[str], unless: str = "") -> None:
        """Delete the rows whose `column` is one of the values, unless a condition holds."""
        for part in _parts(values):
            self.delete(name, f"{column} IN {quoted(part)}" + (f" AND NOT ({unless})" if unless else ""))

    def refresh_indexes(self, name: str) -> int:
        """Build the indexes that a table lacks, take new rows into the others; return how many were built."""
        table = self.table(name)
        with self._readable(name):
            present = {index.name: index for index in table.list_indices()}
            want = indexes.wanted(name, self.count(name), self._vector_index)
            for gone in indexes.superfluous(tuple(present.values()), want):
                self._retry(name, lambda gone=gone: table.drop_index(gone))  # type: ignore[misc]
            built = [index for index in want if index.name not in present or not index.is_met_by(present[index.name])]
            for index in built:
                self._retry(name, lambda i=index: table.create_index(i.column, config=i.config))  # type: ignore[misc]
            if any(index.num_unindexed_rows for index in present.values()):
                self.compact(name)
        return len(built)

    def compact(self, name: str) -> int:
        """Join small files, and take new rows into the indexes; return by how many files there are less."""
        before = self.figures(name).files
        self._optimize(name, _ALL_VERSIONS)
        return max(0, before - self.figures(name).files)

    def clean(self, name: str, older_than: timedelta = KEEP_VERSIONS) -> int:
        """Remove old versions, but for those from the oldest tagged one on; return how many went."""
        table = self.table(name)
        with self._readable(name):
            versions = table.list_versions()
            tagged = {tag["version"] for tag in table.tags.list().values()}
        ages = [datetime.now(UTC) - one["timestamp"].astimezone(UTC) for one in versions if one["version"] in tagged]
        # The database removes nothing at all where a tagged version would have to go.
        self._optimize(name, max([older_than, *(age + _CLOCKS for age in ages)]))
        return max(0, len(versions) - len(table.list_versions()))

    def _optimize(self, name: str, older_than: timedelta) -> None:
        table = self.table(name)
        with self._readable(name):
            self._retry(name, lambda: table.optimize(cleanup_older_than=older_than))

    def figures(self, name: str) -> "TableFigures":
        """Return what a table and its indexes hold."""
        table = self.table(name)
        with self._readable(name):
            stats = cast(dict[str, Any], table.stats())  # not the class its annotation names
            return TableFigures(
                rows=stats["num_rows"],
                size=stats["total_bytes"],
                files=stats["fragment_stats"]["num_fragments"],
                versions=len(table.list_versions()),
                indexes=tuple(table.list_indices()),
            )

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, OSError, ValueError) as error:
            raise StoreUnreachable(self.uri, str(error)) from error

    @contextmanager
    def _readable(self, name: str) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, OSError, ValueError) as error:
            raise CorruptTable(name, self.uri, str(error).splitlines()[0][:300]) from error

    def _retry(self, name: str, commit: Callable[[], T]) -> T:
        for attempt in range(_ATTEMPTS):
            try:
                return commit()
            except (RuntimeError, OSError, ValueError) as error:
                if not _is_conflict(error):
                    raise
            time.sleep(random.uniform(0.2, 1.0) * min(0.05 * 2**attempt, 1.6))
        raise CommitConflict(name, _ATTEMPTS)


def _is_conflict(error: Exception) -> bool:
    text = str(error).lower()
    return "conflict" in text or "concurrent" in text or "already exists" in text


def _parts(values: Sequence[str]) -> Iterator[Sequence[str]]:
    return (values[at : at + _IN_LIST] for at in range(0, len(values), _IN_LIST))


def _schema(name: str) -> pa.Schema:
    if name.startswith(CHUNKS_PREFIX):
        return chunks_schema(int(name.removeprefix(CHUNKS_PREFIX)))
    if name not in SCHEMAS:
        return memories_schema(int(name.removeprefix(MEMORIES_PREFIX)))
    return SCHEMAS[name]


def _nullable(table: Table) -> bool:
    return bool(table.schema.field("vector").nullable)


def _full_text(words: str) -> FullTextQuery:
    """Return the query for words among which some may be quoted."""
    # The type checker takes the defaults of these classes for missing.
    phrases = [
        PhraseQuery(phrase, "search_text")  # type: ignore[call-arg]
        for phrase in _PHRASE.findall(words)
        if len(phrase.split()) > 1
    ]
    if len(phrases) == 1 and not _PHRASE.sub("", words).strip():
        return phrases[0]
    plain = MatchQuery(words.replace('"', " "), "search_text")  # type: ignore[call-arg]
    return BooleanQuery([(Occur.SHOULD, query) for query in (plain, *phrases)]) if phrases else plain
