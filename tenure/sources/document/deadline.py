"""Limit the time for which pages of the file in this process are parsed, so that those read before are kept.

The time of a reader is limited by its parent, which ends a process that exceeds it and all that it has read.
"""

import math
import time
from typing import Final

OUT_OF_TIME: Final = "the time for one file is used up"
PAGE_CPU_SECONDS: Final = 40.0
"""Computing time by which a page is extended whose text is recognized: read in three orientations on a slow machine."""
PAGE_WALL_SECONDS: Final = 120.0
_SECONDS_PER_CHARACTER: Final = 4e-6
"""Computing time to write the paragraphs of a character and to split them into chunks: 2e-6 for a manual of 619 pages
with 1.8 million characters, and more with the tokens of an embedding model."""
_SHARE: Final = 0.9
"""Share of the time of a file that may be planned for."""


class _Clock:
    """Starts and limits of the computing time and of the time that passes."""

    def __init__(self) -> None:
        self.cpu_start = self.wall_start = 0.0
        self.cpu_limit = self.wall_limit = math.inf


_CLOCK: Final = _Clock()


def start_file(cpu_seconds: float, wall_seconds: float) -> None:
    """Start to count the time of a file."""
    _CLOCK.cpu_start, _CLOCK.wall_start = time.process_time(), time.monotonic()
    _CLOCK.cpu_limit, _CLOCK.wall_limit = _SHARE * cpu_seconds, _SHARE * wall_seconds


def start_scan() -> None:
    """Set new limits for a page whose text is recognized, as the parent does."""
    _CLOCK.cpu_limit = time.process_time() - _CLOCK.cpu_start + _SHARE * PAGE_CPU_SECONDS
    _CLOCK.wall_limit = time.monotonic() - _CLOCK.wall_start + _SHARE * PAGE_WALL_SECONDS


def is_reached(characters: int) -> bool:
    """Return whether no further page may be parsed, since the characters so far take the rest of the time."""
    cpu, wall = time.process_time() - _CLOCK.cpu_start, time.monotonic() - _CLOCK.wall_start
    expected = cpu + _SECONDS_PER_CHARACTER * characters
    # On a busy machine, each second of computing time takes several.
    return expected >= _CLOCK.cpu_limit or expected * wall >= _CLOCK.wall_limit * cpu
