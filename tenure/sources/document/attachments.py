"""Count the attachments of the file that is read.

An attachment that hangs or crashes its parser is known by its number, and left out when the file is read again.
"""

from collections.abc import Callable, Mapping
from typing import Final

from tenure.sources.document.document import Unreadable


class _Reading:
    """State of the file that is read in this process."""

    def __init__(self) -> None:
        self.count = 0
        self.lost: Mapping[int, str] = {}
        self.on_start: Callable[[int], None] = lambda number: None


_READING: Final = _Reading()


def start_file(lost: Mapping[int, str]) -> None:
    """Start to count; `lost` has the reasons for attachments that are left out, by their numbers."""
    _READING.count, _READING.lost = 0, lost


def set_attachment_listener(on_start: Callable[[int], None]) -> None:
    """Call a function with the number of each attachment before it is read."""
    _READING.on_start = on_start


def start_attachment() -> None:
    """Count an attachment that is going to be read.

    Raises:
        Unreadable: it is left out.
    """
    number = _READING.count
    _READING.count += 1
    if reason := _READING.lost.get(number):
        raise Unreadable(reason)
    _READING.on_start(number)
