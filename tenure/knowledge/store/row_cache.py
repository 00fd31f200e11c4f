"""Keep rows of a table in memory while no process writes to the table."""

import threading
from collections.abc import Collection, Mapping
from typing import Any, Final

Row = Mapping[str, Any]

MAX_ROWS: Final = 2_000
"""Rows of a cache: a few megabytes of passages."""


class RowCache:
    """Rows of one version of a table, by their keys."""

    def __init__(self, max_rows: int = MAX_ROWS) -> None:
        self._max_rows = max_rows
        self._lock = threading.Lock()
        self._version: int | None = None
        self._rows: dict[str, Row] = {}

    def select(self, version: int, keys: Collection[str]) -> dict[str, Row]:
        """Return the known rows among those of some keys; none if the table has another version."""
        with self._lock:
            if version != self._version:
                return {}
            return {key: self._rows[key] for key in keys if key in self._rows}

    def add(self, version: int, rows: Mapping[str, Row]) -> None:
        """Add rows in place of the oldest ones, or in place of all those of another version."""
        with self._lock:
            if version != self._version:
                self._version, self._rows = version, {}
            self._rows |= rows
            for key in list(self._rows)[: -self._max_rows]:
                del self._rows[key]
