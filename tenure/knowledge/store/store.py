"""Access LanceDB: open tables, read and search rows, and commit writes that may conflict with other writers.

Only this module and `indexes` import lancedb. Every write is idempotent (upsert by key, or deletion), so a commit that
loses a race is repeated after a random pause.
"""

import asyncio
import os
import random
import re
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

# The Rust part of the database reads this variable when it is loaded; it would log warnings to the terminal.
os.environ.setdefault("LANCE_LOG", "error")

from tenure.knowledge.store.validators import skip_call_validators

with skip_call_validators():
    import lancedb

import pyarrow as pa
import structlog
from lancedb.background_loop import LOOP
from lancedb.db import AsyncConnection
from lancedb.query import AsyncQuery, AsyncQueryBase, BooleanQuery, FullTextQuery, MatchQuery, Occur, PhraseQuery
from lancedb.table import AsyncTable, Table

from tenure.algorithms.text.passage import Vectors
from tenure.contracts.evidence.corpora import IndexStats, TableStats, VectorIndex
from tenure.files.file_store import build_storage_options
from tenure.knowledge.store import indexes
from tenure.knowledge.store.errors import CommitConflict, CorruptTable, ForeignTable, StoreUnreachable
from tenure.knowledge.store.flushing import flush_folder, is_written, remove_interrupted_versions
from tenure.knowledge.store.schema import (
    CHUNKS_PREFIX,
    CODE_CHUNKS_PREFIX,
    CODE_CHUNKS_SCHEMA,
    CODE_FILES_PREFIX,
    CODE_FILES_SCHEMA,
    MEMORIES_PREFIX,
    SCHEMAS,
    build_chunk_schema,
    build_memory_schema,
)

KEEP_VERSIONS = timedelta(days=2)
"""Age from which an old version of a table may be removed. The longest activity runs for a day and reads the version
that
it opened.
"""
_NEVER = timedelta(days=36_500)
_CLOCK_SKEW = timedelta(minutes=1)
"""Largest expected difference between the clocks of two machines."""
_MAX_ATTEMPTS = 40  # With pauses of at most 1.6 s this is about half a minute.
_MAX_UNMERGED_FILES = 8
"""Data files of a table with which its first indexes are built."""
_MAX_IN_LIST = 500
_MIN_REFINED = 100
"""Minimum number of candidates of the quantized index whose full vectors are compared."""
_MAX_DERIVED_ROWS = 200_000
"""Rows from which all derived objects in memory are made."""
_NATIVE_PANIC = "RustPanic"
"""Name of the error of a damaged file that the database did not expect; the class cannot be imported."""
_PHRASE = re.compile(r'"([^"]*)"')  # "rye bread" between quotation marks.

T = TypeVar("T")


def quote_literal(value: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def quote_list(values: Sequence[str]) -> str:
    """Return texts as an SQL list."""
    return "(" + ", ".join(map(quote_literal, values)) + ")"


class TextQuery(NamedTuple):
    """Query of the full-text indexes."""

    words: str
    """Words in any language. Those in quotation marks are a phrase: alone it is required, among other words it only
    adds to the score.
    """
    terms: Sequence[str] = ()
    """Terms in other languages than English, for tables that have a column of them."""


class _Derived(NamedTuple):
    """Object made from rows of tables."""

    version: Hashable
    rows: int
    value: Any


class Store:
    """Tables of one knowledge base; safe to share between threads and, by URI, between processes."""

    def __init__(self, uri: str, vector_index: VectorIndex = "auto") -> None:
        """Connect to the folder or object store at `uri`; create the folder if it does not exist.

        Raises:
            StoreUnreachable: it cannot be accessed.
        """
        self.uri = uri
        self._vector_index = vector_index
        self._lock = threading.Lock()
        self._tables: dict[str, Table] = {}
        self._small_tables: dict[str, tuple[int, pa.Table]] = {}
        self._derived: OrderedDict[str, _Derived] = OrderedDict()
        self._deriving = threading.Lock()
        # Interval 0: every read sees all earlier commits of other processes.
        options: dict[str, Any] = {
            "read_consistency_interval": timedelta(0),
            "storage_options": build_storage_options(uri, os.environ) or None,
            "session": lancedb.Session(),
        }
        with self._translate_connection_errors():
            self._db = lancedb.connect(uri, **options)
            # Queries run in the event loop of the database: each passes to another thread once, and several together.
            self._queries: AsyncConnection = _wait_for(lancedb.connect_async(uri, **options))
        self._query_tables: dict[str, AsyncTable] = {}

    @property
    def folder(self) -> Path | None:
        """Local folder; None for an object store."""
        return None if "://" in self.uri else Path(self.uri)

    def list_table_names(self) -> tuple[str, ...]:
        """Return the names of all tables."""
        with self._translate_connection_errors():
            return tuple(self._db.list_tables().tables)

    def list_chunk_tables(self) -> tuple[str, ...]:
        """Return the names of the tables of chunks, for all sizes of vectors."""
        return tuple(name for name in self.list_table_names() if name.startswith(CHUNKS_PREFIX))

    def open_table(self, name: str) -> Table:
        """Return a table; create it if it does not exist.

        Raises:
            CorruptTable: the table cannot be opened.
            ForeignTable: it has other columns than this version.
        """
        with self._lock:
            if name not in self._tables:
                with self._translate_read_errors(name):
                    table = self._retry(name, lambda: self._open_or_create(name))
                present, expected = set(table.schema.names), set(_build_schema(name).names)
                if present != expected:
                    raise ForeignTable(name, self.uri, sorted(expected - present), sorted(present - expected))
                self._tables[name] = table
            return self._tables[name]

    def _open_or_create(self, name: str) -> Table:
        folder = self.folder and self.folder / f"{name}.lance"
        if folder and (count := remove_interrupted_versions(folder)):
            structlog.get_logger().warning("a loss of power interrupted a commit", table=name, versions=count)
        if name not in self.list_table_names() or (folder and not is_written(folder)):
            return self._db.create_table(name, schema=_build_schema(name), exist_ok=True)
        return self._db.open_table(name)

    def read_rows(
        self,
        name: str,
        columns: Sequence[str] | Mapping[str, str],
        where: str | None = None,
        limit: int | None = None,
    ) -> pa.Table:
        """Return columns of the rows that match the condition, at most `limit` of them in any order.

        A mapping names the columns of the result, each with its SQL expression.
        """
        with self._translate_read_errors(name):
            query = self._query(name, where).select(dict(columns) if isinstance(columns, Mapping) else list(columns))
            [rows] = self._run(query.limit(limit) if limit is not None else query)
        return rows

    def read_batches(self, name: str, columns: Sequence[str], where: str, size: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows that match the condition in batches of at most `size`."""
        query = self.open_table(name).search().select(list(columns))
        with self._translate_read_errors(name):
            yield from (query.where(where) if where else query).limit(None).to_batches(batch_size=size)

    def read_small_table(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Return all rows of a small table, cached until a process writes to the table."""
        table = self.open_table(name)
        with self._translate_read_errors(name):
            version = table.version
        cached_version, rows = self._small_tables.get(name, (0, None))
        if rows is None or cached_version != version:
            rows = self.read_rows(name, columns)
            self._small_tables[name] = (version, rows)
        return rows

    def load_derived(self, name: str, version: Hashable, rows: int, derive: Callable[[], T]) -> T:
        """Return an object made from rows of tables; make it again if its version has changed.

        The least recently used objects are dropped if all of them together are made from too many rows.
        """
        with self._deriving:
            derived = self._derived.get(name)
            if derived is None or derived.version != version:
                self._derived[name] = derived = _Derived(version, rows, derive())
            self._derived.move_to_end(name)
            while len(self._derived) > 1 and sum(entry.rows for entry in self._derived.values()) > _MAX_DERIVED_ROWS:
                self._derived.popitem(last=False)
            return cast(T, derived.value)

    def read_rows_in(
        self, name: str, columns: Sequence[str], column: str, values: Sequence[str], where: str = ""
    ) -> pa.Table:
        """Return the rows whose `column` is one of `values` (any number) and that match the condition."""
        also = f" AND {where}" if where else ""
        parts = [self.read_rows(name, columns, f"{column} IN {quote_list(part)}{also}") for part in _split(values)]
        empty = pa.schema([_build_schema(name).field(column) for column in columns]).empty_table()
        return pa.concat_tables([part.cast(empty.schema) for part in parts]) if parts else empty

    def search_vectors(self, name: str, columns: Sequence[str], vector: Vectors, where: str, limit: int) -> pa.Table:
        """Return the rows nearest to `vector` by cosine, with the column `_distance` (1 − cosine)."""
        with self._translate_read_errors(name):
            [rows] = self._run(self._build_vector_query(name, columns, vector, where, limit))
        return rows

    def search_text(self, name: str, columns: Sequence[str], text: TextQuery, where: str, limit: int) -> pa.Table:
        """Return the rows that match a query by BM25, best first, with the column `_score`."""
        with self._translate_read_errors(name):
            [rows] = self._run(self._build_text_query(name, columns, text, where, limit))
        return rows

    def search_vectors_and_text(
        self, name: str, columns: Sequence[str], vector: Vectors, text: TextQuery, where: str, limit: int
    ) -> tuple[pa.Table, pa.Table]:
        """Return the results of `search_vectors` and of `search_text`, which run concurrently."""
        with self._translate_read_errors(name):
            near, worded = self._run(
                self._build_vector_query(name, columns, vector, where, limit),
                self._build_text_query(name, columns, text, where, limit),
            )
        return near, worded

    def _build_vector_query(
        self, name: str, columns: Sequence[str], vector: Vectors, where: str, limit: int
    ) -> AsyncQueryBase:
        query = self._query(name, where).nearest_to(vector).column("vector").distance_type("cosine").limit(limit)
        # A maximum of 0 means all partitions of an index: of 150,000 vectors with 384 components they took 13 ms, and
        # twenty of them 10 ms for 99.7 % of the ten nearest.
        query = query.maximum_nprobes(0)
        # The factor applies only with an index: quantized distances select the candidates, full vectors rank them.
        return query.refine_factor(max(1, -(-_MIN_REFINED // limit))).select([*columns, "_distance"])

    def _build_text_query(
        self, name: str, columns: Sequence[str], text: TextQuery, where: str, limit: int
    ) -> AsyncQueryBase:
        query = self._query(name, where).nearest_to_text(_build_full_text_query(text)).limit(limit)
        # Without `_score` among the columns the database logs a warning.
        return query.select([*columns, "_score"])

    def _query(self, name: str, where: str | None) -> AsyncQuery:
        self.open_table(name)
        if name not in self._query_tables:
            self._query_tables[name] = _wait_for(self._queries.open_table(name))
        query = self._query_tables[name].query()
        return query.where(where) if where else query

    def _run(self, *queries: AsyncQueryBase) -> list[pa.Table]:
        """Return the results of queries, which run concurrently."""

        async def gather() -> list[pa.Table]:
            return await asyncio.gather(*(query.to_arrow() for query in queries))

        return _wait_for(gather())

    def count_rows(self, name: str, where: str | None = None) -> int:
        """Return the number of rows that match the condition."""
        with self._translate_read_errors(name):
            return int(self.open_table(name).count_rows(where))

    def upsert(self, name: str, rows: pa.Table, key: str) -> None:
        """Insert rows, and replace those with the same key."""
        if rows.num_rows:
            table = self.open_table(name)
            rows = rows.select(table.schema.names)  # the database expects the order of the table
            # By default the database rejects missing vectors.
            absent = "null" if "vector" in rows.column_names and rows["vector"].null_count else "error"
            merge = table.merge_insert(key).when_matched_update_all().when_not_matched_insert_all()
            self._retry(name, lambda: merge.execute(rows, on_bad_vectors=absent))

    def update_columns(self, name: str, rows: pa.Table, key: str) -> None:
        """Update some columns of existing rows with these keys; keep other columns and their indexes."""
        if rows.num_rows:
            table = self.open_table(name)
            self._retry(name, lambda: table.merge_insert(key).when_matched_update_all().execute(rows))

    def delete_rows(self, name: str, where: str) -> None:
        """Delete the rows that match the condition."""
        table = self.open_table(name)
        self._retry(name, lambda: table.delete(where))

    def delete_rows_in(self, name: str, column: str, values: Sequence[str], unless: str = "") -> None:
        """Delete the rows whose `column` is one of the values, except those that match the condition `unless`."""
        for part in _split(values):
            self.delete_rows(name, f"{column} IN {quote_list(part)}" + (f" AND NOT ({unless})" if unless else ""))

    def trim_rows(self, name: str, key: str, time_column: str, max_bytes: int, row_bytes: int, oldest: str = "") -> int:
        """Delete rows older than `oldest`, and the oldest until the rest is small enough; return their number.

        A row takes its column `size` and `row_bytes` more.
        """
        rows = self.read_rows(name, [key, "size", time_column]).to_pylist()
        rows.sort(key=lambda row: (row[time_column], row[key]), reverse=True)
        sizes = accumulate(row["size"] + row_bytes for row in rows)
        pairs = zip(rows, sizes, strict=True)
        excess = [row[key] for row, size in pairs if size > max_bytes or row[time_column] < oldest]
        self.delete_rows_in(name, key, excess)
        return len(excess)

    def refresh_indexes(self, name: str) -> int:
        """Build missing indexes and add new rows to the others; return the number of indexes built.

        Many small files are merged first: rows that a search reads by their keys are then read twice as fast.
        """
        table = self.open_table(name)
        with self._translate_read_errors(name):
            present = {index.name: index for index in table.list_indices()}
            want = indexes.plan_indexes(name, self.count_rows(name), self._vector_index)
            for obsolete in indexes.find_obsolete_indexes(tuple(present.values()), want):
                self._retry(name, lambda obsolete=obsolete: table.drop_index(obsolete))  # type: ignore[misc]
            built = [
                index
                for index in want
                if (index.name not in present or not index.is_satisfied_by(present[index.name]))
                and (index.column != "vector" or self._has_vectors_to_index(name))
            ]
            is_grown = any(index.num_unindexed_rows for index in present.values())
            if is_grown or (built and self.describe_table(name).files > _MAX_UNMERGED_FILES):
                self.compact(name)
            for index in built:
                self._retry(name, lambda i=index: table.create_index(i.column, config=i.config))  # type: ignore[misc]
        return len(built)

    def _has_vectors_to_index(self, name: str) -> bool:
        """Return whether a vector index can be trained: a large folder is stored before its vectors are computed."""
        vectors = self.count_rows(name, "vector IS NOT NULL")
        return indexes.choose_vector_family(vectors, self._vector_index) != "flat"

    def compact(self, name: str) -> int:
        """Merge small files and add new rows to the indexes; return by how many the number of files fell."""
        before = self.describe_table(name).files
        self._optimize(name, _NEVER)
        return max(0, before - self.describe_table(name).files)

    def remove_old_versions(self, name: str, older_than: timedelta = KEEP_VERSIONS) -> int:
        """Remove versions older than `older_than`, but none from the oldest tagged one on; return their number."""
        table = self.open_table(name)
        with self._translate_read_errors(name):
            versions = table.list_versions()
            tagged = {tag["version"] for tag in table.tags.list().values()}
        ages = [
            datetime.now(UTC) - version["timestamp"].astimezone(UTC)
            for version in versions
            if version["version"] in tagged
        ]
        # If a tagged version is in the range, the database removes nothing at all.
        self._optimize(name, max([older_than, *(age + _CLOCK_SKEW for age in ages)]))
        return max(0, len(versions) - len(table.list_versions()))

    def _optimize(self, name: str, older_than: timedelta) -> None:
        table = self.open_table(name)
        with self._translate_read_errors(name):
            self._retry(name, lambda: table.optimize(cleanup_older_than=older_than))

    def describe_table(self, name: str) -> TableStats:
        """Return the size and the indexes of a table."""
        table = self.open_table(name)
        with self._translate_read_errors(name):
            stats = cast(dict[str, Any], table.stats())  # the annotation is wrong
            return TableStats(
                table=name,
                rows=stats["num_rows"],
                size=stats["total_bytes"],
                files=stats["fragment_stats"]["num_fragments"],
                versions=len(table.list_versions()),
                indexes=tuple(
                    IndexStats(
                        name=index.name,
                        family=index.index_type,
                        size=index.size_bytes or 0,
                        rows=index.num_indexed_rows or 0,
                        unindexed=index.num_unindexed_rows or 0,
                    )
                    for index in sorted(table.list_indices(), key=lambda index: index.name)
                ),
            )

    def replace_cache(self, name: str, error: CorruptTable) -> None:
        """Move the files of a damaged cache aside, so that an empty table replaces it.

        The files remain as `NAME.damaged` until the next damage. In an object store, the table stays as it is.
        """
        structlog.get_logger().warning("a damaged cache is replaced", table=name, why=error.reason)
        if self.folder is None:
            return
        damaged, moved = self.folder / f"{name}.lance", self.folder / f"{name}.damaged"
        with self._lock:
            self._tables.pop(name, None)
            self._query_tables.pop(name, None)
            try:
                shutil.rmtree(moved, ignore_errors=True)
                damaged.rename(moved)
            except OSError as failure:  # another process was faster, or the folder is read-only
                structlog.get_logger().warning("a damaged cache was not moved", table=name, why=str(failure))

    @contextmanager
    def _translate_connection_errors(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, OSError, ValueError) as error:
            raise StoreUnreachable(self.uri, str(error)) from error

    @contextmanager
    def _translate_read_errors(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if isinstance(error, (RuntimeError, OSError, ValueError)) or type(error).__name__ == _NATIVE_PANIC:
                raise CorruptTable(name, self.uri, str(error).splitlines()[0][:300]) from error
            raise

    def _retry(self, name: str, commit: Callable[[], T]) -> T:
        """Commit, again after a conflict; return when the commit is on the disk."""
        for attempt in range(_MAX_ATTEMPTS):
            try:
                done = commit()
                if self.folder is not None:
                    flush_folder(self.folder)
                return done
            except (RuntimeError, OSError, ValueError) as error:
                if not _is_conflict(error):
                    raise
            time.sleep(random.uniform(0.2, 1.0) * min(0.05 * 2**attempt, 1.6))
        raise CommitConflict(name, _MAX_ATTEMPTS)


def _wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that runs in the event loop of the database."""
    return asyncio.run_coroutine_threadsafe(coroutine, LOOP.loop).result()


def _is_conflict(error: Exception) -> bool:
    text = str(error).lower()
    return "conflict" in text or "concurrent" in text or "already exists" in text


def _split(values: Sequence[str]) -> Iterator[Sequence[str]]:
    return (values[at : at + _MAX_IN_LIST] for at in range(0, len(values), _MAX_IN_LIST))


def _build_schema(name: str) -> pa.Schema:
    if name.startswith(CHUNKS_PREFIX):
        return build_chunk_schema(int(name.removeprefix(CHUNKS_PREFIX)))
    if name.startswith(CODE_FILES_PREFIX):
        return CODE_FILES_SCHEMA
    if name.startswith(CODE_CHUNKS_PREFIX):
        return CODE_CHUNKS_SCHEMA
    if name not in SCHEMAS:
        return build_memory_schema(int(name.removeprefix(MEMORIES_PREFIX)))
    return SCHEMAS[name]


def _build_full_text_query(text: TextQuery) -> FullTextQuery:
    """Return the query of the database for words, some of which may be quoted phrases, and terms."""
    # The type checker does not see the defaults of these classes.
    phrases = [
        PhraseQuery(phrase, "search_text")  # type: ignore[call-arg]
        for phrase in _PHRASE.findall(text.words)
        if len(phrase.split()) > 1
    ]
    if len(phrases) == 1 and not _PHRASE.sub("", text.words).strip():
        return phrases[0]
    plain = MatchQuery(text.words.replace('"', " "), "search_text")  # type: ignore[call-arg]
    terms = [MatchQuery(" ".join(text.terms), "language_terms")] if text.terms else []  # type: ignore[call-arg]
    queries = [plain, *phrases, *terms]
    return BooleanQuery([(Occur.SHOULD, query) for query in queries]) if len(queries) > 1 else plain
