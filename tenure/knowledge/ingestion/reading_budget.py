"""Limit the time that a file may take, and the time that one ingestion may spend on slow files.

Time is computing time of the reader, so that a busy machine does not make a document unreadable; only a reader that is
killed is charged with the time that passed. Each file extends the budget of its ingestion by what a file of its size
may need, so large folders of ordinary documents never exhaust it.
"""

import threading
from typing import Final

_FILE_CPU_SECONDS: Final = 20.0
_FILE_CPU_SECONDS_PER_MB: Final = 5.0
_MAX_FILE_CPU_SECONDS: Final = 360.0
"""Two threads of the table engine over the longest time that may pass."""
WALL_FACTOR: Final = 3.0
"""Ratio of the time that may pass to the computing time, for a busy machine."""
_EXPECTED_SECONDS: Final = 0.25
_EXPECTED_SECONDS_PER_MB: Final = 4.0
"""Computing time that an ordinary document may need, several times what most formats do need."""


_EXPECTED_SECONDS_PER_SCAN: Final = 6.0


def limit_file(size: int, max_wall_seconds: float) -> tuple[float, float]:
    """Return the computing time and the passed time for a file of this size in bytes, in seconds."""
    cpu = min(_FILE_CPU_SECONDS + _FILE_CPU_SECONDS_PER_MB * size / 1e6, _MAX_FILE_CPU_SECONDS)
    return cpu, min(WALL_FACTOR * cpu, max_wall_seconds)


class ReadingBudget:
    """Budget of time for the files of one ingestion; safe to share between threads."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._left = seconds
        self._lock = threading.Lock()

    @property
    def reason(self) -> str:
        """Reason for a file that is not read any more."""
        return (
            f"was not read: the time for slow files, {self.seconds:g} s, is used up "
            "(TENURE_INGEST_SECONDS sets it; without the slow files, the next ingestion reads the others)"
        )

    def start_file(self, size: int) -> bool:
        """Extend the budget by the expected time of a file, and return whether it may be read."""
        with self._lock:
            if self._left <= 0:
                return False
            self._left += _EXPECTED_SECONDS + _EXPECTED_SECONDS_PER_MB * size / 1e6
            return True

    def add_scan(self) -> None:
        """Extend the budget by the expected time of a page whose text is recognized."""
        with self._lock:
            self._left += _EXPECTED_SECONDS_PER_SCAN

    def subtract(self, seconds: float) -> None:
        """Subtract the time that a file has taken."""
        with self._lock:
            self._left -= seconds
