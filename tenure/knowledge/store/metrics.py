"""Count searches, their latency, and hits of the embedding cache.

The counters are stored in a small SQLite file of the home directory, so that they survive restarts and add up over
processes; each machine counts for itself. The 95th percentile covers the latest searches. A count that cannot be
written is logged and lost, because statistics must not fail a search. A damaged file is replaced by an empty one.
"""

import sqlite3
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import structlog

from tenure.contracts.evidence.corpora import CacheStats, QueryStats

MAX_RECENT_SEARCHES = 1000
"""Searches of each mode whose latency is kept."""

_BUSY_SECONDS = 2.0
_TABLES = """
CREATE TABLE IF NOT EXISTS searches (mode TEXT PRIMARY KEY, count INTEGER NOT NULL, total_ms REAL NOT NULL);
CREATE TABLE IF NOT EXISTS latest (id INTEGER PRIMARY KEY AUTOINCREMENT, mode TEXT NOT NULL, ms REAL NOT NULL);
CREATE INDEX IF NOT EXISTS latest_mode ON latest (mode, id);
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, hits INTEGER NOT NULL, misses INTEGER NOT NULL);
"""


class SearchObserver(Protocol):
    """Receiver of the same counts, such as an export of metrics."""

    def count_search(self, mode: str, seconds: float) -> None:
        """Count a search and its latency in seconds."""

    def count_cache_lookups(self, hits: int, misses: int) -> None:
        """Count lookups in the embedding cache."""


class SearchMetrics:
    """Counters of searches and cache lookups; safe to share between threads and, by file, between processes."""

    def __init__(self, path: Path, observer: SearchObserver | None = None) -> None:
        """Count in the file at `path`, created on first use, and forward every count to an observer."""
        self._path, self._observer = path, observer

    def count_search(self, mode: str, seconds: float) -> None:
        """Count a search and its latency in seconds."""
        if self._observer:
            self._observer.count_search(mode, seconds)
        self._write(
            (
                "INSERT INTO searches VALUES (:mode, 1, :ms) ON CONFLICT (mode) "
                "DO UPDATE SET count = count + 1, total_ms = total_ms + excluded.total_ms",
                "INSERT INTO latest (mode, ms) VALUES (:mode, :ms)",
                "DELETE FROM latest WHERE mode = :mode AND id <= "
                "(SELECT id FROM latest WHERE mode = :mode ORDER BY id DESC LIMIT 1 OFFSET :kept)",
            ),
            {"mode": mode, "ms": seconds * 1000, "kept": MAX_RECENT_SEARCHES},
        )

    def count_cache_lookups(self, hits: int, misses: int) -> None:
        """Count vectors found in the embedding cache and vectors that had to be computed."""
        if self._observer:
            self._observer.count_cache_lookups(hits, misses)
        self._write(
            (
                "INSERT INTO vectors VALUES (1, :hits, :misses) ON CONFLICT (id) "
                "DO UPDATE SET hits = hits + excluded.hits, misses = misses + excluded.misses",
            ),
            {"hits": hits, "misses": misses},
        )

    def load_search_stats(self) -> tuple[QueryStats, ...]:
        """Return the statistics of each search mode, in alphabetical order."""
        kinds = self._load("SELECT mode, count, total_ms FROM searches ORDER BY mode")
        latest = self._load("SELECT mode, ms FROM latest")
        return tuple(
            QueryStats(
                mode=mode, count=count, mean_ms=total / count, p95_ms=_p95([ms for m, ms in latest if m == mode])
            )
            for mode, count, total in kinds
        )

    def load_cache_stats(self) -> CacheStats:
        """Return hits and misses of the embedding cache."""
        rows = self._load("SELECT hits, misses FROM vectors")
        return CacheStats(hits=rows[0][0], misses=rows[0][1]) if rows else CacheStats()

    def _write(self, statements: Sequence[str], values: Mapping[str, str | float]) -> None:
        try:
            with self._open() as database:
                for statement in statements:
                    database.execute(statement, values)
        except (sqlite3.Error, OSError) as error:
            structlog.get_logger().warning("search statistics not written", file=str(self._path), reason=str(error))
            self._replace_if_damaged(error)

    def _load(self, query: str) -> list[Any]:
        """Return the rows of a query; those of an empty file if the file is damaged."""
        for _ in range(2):
            try:
                with self._open() as database:
                    return database.execute(query).fetchall()
            except sqlite3.DatabaseError as error:
                if not self._replace_if_damaged(error):
                    raise
        return []

    def _replace_if_damaged(self, error: Exception) -> bool:
        """Move a damaged file aside; return False if the file is not the cause of the error."""
        # The lowest byte is the primary result code.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return False
        with suppress(OSError):  # another process was faster, or the folder is read-only
            self._path.replace(self._path.with_name(self._path.name + ".damaged"))
        return True

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Yield a transaction; a file that a loss of power damages is replaced, so no write waits for the disk."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as database, database:
            database.executescript(f"PRAGMA synchronous = OFF; {_TABLES}")
            yield database


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
