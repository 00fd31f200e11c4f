"""The door to LanceDB: opening tables, reading rows, and commits that other writers cannot spoil.

Nothing else in Tenure imports lancedb. Every write here is idempotent (merge by key, or deletion), so a
commit that lost a race is simply made again after a random pause.
"""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar, cast

# The database's Rust side writes warnings to the terminal unless told otherwise before it is loaded.
os.environ.setdefault("LANCE_LOG", "error")

import lancedb
import pyarrow as pa
from lancedb.index import FTS, Bitmap, BTree, IvfRq
from lancedb.query import LanceVectorQueryBuilder
from lancedb.table import Table

from tenure.algorithms.passages import Vectors
from tenure.knowledge.errors import CommitConflict, CorruptTable
from tenure.knowledge.schema import CHUNKS_PREFIX, SCHEMAS, chunks_schema

INDEX_ROWS = 20_000
"""Rows from which an approximate vector index beats a scan (DESIGN §6)."""
_ATTEMPTS = 40
_KEEP_VERSIONS = timedelta(hours=1)
"""Readers of an older version have that long to finish."""
_IN_LIST = 500
_REFINE = 10
"""So many times the wanted rows are compared by their full vectors (DESIGN §6)."""

T = TypeVar("T")


def quoted(values: Sequence[str]) -> str:
    """Return the values as an SQL list, quotes escaped."""
    return "(" + ", ".join("'" + value.replace("'", "''") + "'" for value in values) + ")"


class Store:
    """The tables of one knowledge base; safe to share between threads, and between processes by its address."""

    def __init__(self, uri: str) -> None:
        """Connect to the folder or object store at `uri`; a folder is made where there is none."""
        self.uri = uri
        self._lock = threading.Lock()
        self._tables: dict[str, Table] = {}
        # Interval 0: every read sees what other processes committed before it.
        self._db = lancedb.connect(uri, read_consistency_interval=timedelta(0))

    @property
    def folder(self) -> Path | None:
        """The local folder, None for an object store."""
        return None if "://" in self.uri else Path(self.uri)

    def names(self) -> tuple[str, ...]:
        """Return the names of all tables."""
        return tuple(self._db.list_tables().tables)

    def chunk_tables(self) -> tuple[str, ...]:
        """Return the names of the tables of chunks, whatever their vectors' size."""
        return tuple(name for name in self.names() if name.startswith(CHUNKS_PREFIX))

    def table(self, name: str) -> Table:
        """Open a table, making it first where it is missing.

        Raises:
            CorruptTable: there is something of that name, but it is not the table it should be.
        """
        with self._lock:
            if name not in self._tables:
                schema = _schema(name)
                with self._readable(name):
                    table = self._retry(name, lambda: self._db.create_table(name, schema=schema, exist_ok=True))
                if table.schema.names != schema.names:
                    raise CorruptTable(name, self.uri, f"unexpected columns {table.schema.names}")
                self._tables[name] = table
            return self._tables[name]

    def rows(self, name: str, columns: Sequence[str], where: str | None = None) -> pa.Table:
        """Return the given columns of all rows that meet the condition."""
        query = self.table(name).search().select(list(columns))
        with self._readable(name):
            return (query.where(where) if where else query).limit(None).to_arrow()

    def rows_in(self, name: str, columns: Sequence[str], column: str, values: Sequence[str]) -> pa.Table:
        """Return the rows whose `column` is one of the values, however many these are."""
        parts = [self.rows(name, columns, f"{column} IN {quoted(part)}") for part in _parts(values)]
        empty = pa.schema([_schema(name).field(column) for column in columns]).empty_table()
        return pa.concat_tables([part.cast(empty.schema) for part in parts]) if parts else empty

    def nearest(self, name: str, columns: Sequence[str], vector: Vectors, where: str, limit: int) -> pa.Table:
        """Return the rows with the vectors most like `vector`, and their `_distance`."""
        query = cast(LanceVectorQueryBuilder, self.table(name).search(vector, vector_column_name="vector"))
        query = query.distance_type("cosine").where(where, prefilter=True).limit(limit)
        with self._readable(name):
            # Without an index the factor has no effect; with it, quantised distances only pick the candidates.
            return query.refine_factor(_REFINE).select([*columns, "_distance"]).to_arrow()

    def matching(self, name: str, columns: Sequence[str], words: str, where: str, limit: int) -> pa.Table:
        """Return the rows whose text has the words, best first, and their `_score`."""
        query = self.table(name).search(words, query_type="fts", fts_columns="search_text")
        with self._readable(name):
            # Selecting `_score` by name keeps the database from warning about it.
            return query.where(where, prefilter=True).limit(limit).select([*columns, "_score"]).to_arrow()

    def count(self, name: str, where: str | None = None) -> int:
        """Count the rows that meet the condition."""
        with self._readable(name):
            return int(self.table(name).count_rows(where))

    def merge(self, name: str, rows: pa.Table, key: str) -> None:
        """Insert rows, replacing those with the same key."""
        if rows.num_rows:
            table = self.table(name)
            self._retry(
                name,
                lambda: table.merge_insert(key).when_matched_update_all().when_not_matched_insert_all().execute(rows),
            )

    def delete(self, name: str, where: str) -> None:
        """Delete the rows that meet the condition."""
        table = self.table(name)
        self._retry(name, lambda: table.delete(where))

    def delete_in(self, name: str, column: str, values: Sequence[str], unless: str = "") -> None:
        """Delete the rows whose `column` is one of the values, unless a condition holds."""
        for part in _parts(values):
            self.delete(name, f"{column} IN {quoted(part)}" + (f" AND NOT ({unless})" if unless else ""))

    def refresh_indexes(self, name: str) -> None:
        """Build what indexes a table of chunks lacks, take new rows into the others, and compact it."""
        table = self.table(name)
        present = {index.name: index for index in table.list_indices()}
        rows = self.count(name)
        for column, config in _indexes(rows):
            if f"{column}_idx" not in present:
                self._retry(name, lambda c=column, i=config: table.create_index(c, config=i))  # type: ignore[misc]
        if any(index.num_unindexed_rows for index in present.values()):
            self.compact(name)

    def compact(self, name: str) -> None:
        """Join small files, update the indexes, drop versions nobody reads."""
        table = self.table(name)
        self._retry(name, lambda: table.optimize(cleanup_older_than=_KEEP_VERSIONS))

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
            time.sleep(random.uniform(0.01, 0.05) * min(2**attempt, 32))
        raise CommitConflict(name, _ATTEMPTS)


def _is_conflict(error: Exception) -> bool:
    text = str(error).lower()
    return "conflict" in text or "concurrent" in text or "already exists" in text


def _parts(values: Sequence[str]) -> Iterator[Sequence[str]]:
    return (values[at : at + _IN_LIST] for at in range(0, len(values), _IN_LIST))


def _schema(name: str) -> pa.Schema:
    if name.startswith(CHUNKS_PREFIX):
        return chunks_schema(int(name.removeprefix(CHUNKS_PREFIX)))
    return SCHEMAS[name]


def _indexes(rows: int) -> list[tuple[str, FTS | BTree | Bitmap | IvfRq]]:
    wanted: list[tuple[str, FTS | BTree | Bitmap | IvfRq]] = []
    if rows:
        wanted.append(("search_text", FTS(language="English", stem=True, remove_stop_words=True, with_position=False)))
    if rows >= INDEX_ROWS:
        wanted += [("id", BTree()), ("source_id", BTree()), ("corpus", Bitmap())]
        wanted.append(("vector", IvfRq(distance_type="cosine")))
    return wanted
