"""The meter: how many searches there were and how long they took, and how often a known vector spared the model.

The counts live in a small SQLite file of the home, so that they add up over processes and restarts. They
are the home's own: on a fleet each machine counts what it did. All searches are counted; their 95th
percentile is that of the latest ones. What cannot be counted is lost with a warning, since no search
may fail for the sake of its statistics.
"""

import sqlite3
import statistics
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import structlog

from tenure.contracts.evidence.corpora import CacheStats, QueryStats

LATEST = 1000
"""Searches of each kind whose times are kept."""

_BUSY_SECONDS = 2.0
_TABLES = """
CREATE TABLE IF NOT EXISTS searches (mode TEXT PRIMARY KEY, count INTEGER NOT NULL, total_ms REAL NOT NULL);
CREATE TABLE IF NOT EXISTS latest (id INTEGER PRIMARY KEY AUTOINCREMENT, mode TEXT NOT NULL, ms REAL NOT NULL);
CREATE INDEX IF NOT EXISTS latest_mode ON latest (mode, id);
CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, hits INTEGER NOT NULL, misses INTEGER NOT NULL);
"""


class Meter:
    """Counts searches and looked-up vectors; safe to share between threads, and between processes by its file."""

    def __init__(self, path: Path) -> None:
        """Count in a file, which is made where there is none."""
        self._path = path
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None

    def searched(self, mode: str, seconds: float) -> None:
        """Count a search and its time."""
        self._note(
            (
                "INSERT INTO searches VALUES (:mode, 1, :ms) ON CONFLICT (mode) "
                "DO UPDATE SET count = count + 1, total_ms = total_ms + excluded.total_ms",
                "INSERT INTO latest (mode, ms) VALUES (:mode, :ms)",
                "DELETE FROM latest WHERE mode = :mode AND id <= "
                "(SELECT id FROM latest WHERE mode = :mode ORDER BY id DESC LIMIT 1 OFFSET :kept)",
            ),
            {"mode": mode, "ms": seconds * 1000, "kept": LATEST},
        )

    def looked_up(self, hits: int, misses: int) -> None:
        """Count vectors that were found in the cache, and those that had to be computed."""
        self._note(
            (
                "INSERT INTO vectors VALUES (1, :hits, :misses) ON CONFLICT (id) "
                "DO UPDATE SET hits = hits + excluded.hits, misses = misses + excluded.misses",
            ),
            {"hits": hits, "misses": misses},
        )

    def queries(self) -> tuple[QueryStats, ...]:
        """Return what is known of the searches, by kind in alphabetical order."""
        with self._open() as database:
            kinds = database.execute("SELECT mode, count, total_ms FROM searches ORDER BY mode").fetchall()
            latest = database.execute("SELECT mode, ms FROM latest").fetchall()
        return tuple(
            QueryStats(
                mode=mode, count=count, mean_ms=total / count, p95_ms=_p95([ms for m, ms in latest if m == mode])
            )
            for mode, count, total in kinds
        )

    def cache(self) -> CacheStats:
        """Return how often a vector was known."""
        with self._open() as database:
            row = database.execute("SELECT hits, misses FROM vectors").fetchone()
        return CacheStats(hits=row[0], misses=row[1]) if row else CacheStats()

    def _note(self, statements: Sequence[str], values: Mapping[str, str | float]) -> None:
        try:
            with self._open() as database:
                for statement in statements:
                    database.execute(statement, values)
        except (sqlite3.Error, OSError) as error:
            structlog.get_logger().warning("not counted", file=str(self._path), reason=str(error))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Give a transaction, one at a time within this process."""
        with self._lock:
            if self._database is None:
                self._database = self._connected()
            with self._database:
                yield self._database

    def _connected(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, check_same_thread=False)
        try:
            database.executescript(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; {_TABLES}")
        except sqlite3.Error:
            database.close()
            raise
        return database

    def close(self) -> None:
        """Let go of the file; counting opens it again."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20, method="inclusive")[-1] if len(times) > 1 else times[0]
