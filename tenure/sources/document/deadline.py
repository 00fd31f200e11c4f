"""Limit the time for which pages of the file in this process are parsed, so that those read before are kept.

The time of a reader is limited by its parent, which ends a process that exceeds it and all that it has read.
"""

import math
import time
from typing import Final

OUT_OF_TIME: Final = "the time for one file is used up"
_PAGE_SHARE: Final = 0.6
"""Share of the time of a file after which no further page is parsed. Of 14 s for a manual of 619 pages, writing its
paragraphs and splitting them into chunks took 4 s."""


class _Deadline:
    """Ends of the computing time and of the time that may pass."""

    def __init__(self) -> None:
        self.cpu = self.wall = math.inf


_DEADLINE: Final = _Deadline()


def start_file(cpu_seconds: float, wall_seconds: float) -> None:
    """Start to count the time of a file."""
    _DEADLINE.cpu = time.process_time() + _PAGE_SHARE * cpu_seconds
    _DEADLINE.wall = time.monotonic() + _PAGE_SHARE * wall_seconds


def is_reached() -> bool:
    """Return whether no further page may be parsed."""
    return time.process_time() >= _DEADLINE.cpu or time.monotonic() >= _DEADLINE.wall
