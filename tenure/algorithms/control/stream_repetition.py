"""Detect text that repeats itself, as small models write it when they do not find the end of an answer."""

from typing import Final

TAIL_CHARACTERS: Final = 6_000
"""Length of the end of a text that is examined."""

_MAX_PERIOD = 400  # A paragraph of some 60 words.
_MAX_CONSTANT = 12  # characters of a number or `false`
_MIN_PROSE = (600, 6)
_MIN_ITEMS = (4_000, 24)
"""Minimum length in characters and repetitions of prose, and of items of JSON: a list of labels may have equal ones."""


def is_repetitive(text: str) -> bool:
    """Return whether a text ends with one segment that is repeated again and again."""
    tail = text[-TAIL_CHARACTERS:]
    longest = min(_MAX_PERIOD, len(tail) - 1)
    # The last character of a repeated segment ends the segment before it as well, which excludes most lengths.
    return any(
        tail[-1] == tail[-1 - period] and _ends_with_repetition(tail, period) for period in range(1, longest + 1)
    )


def _ends_with_repetition(tail: str, period: int) -> bool:
    """Return whether the last segment of a length is repeated often enough."""
    segment = tail[-period:]
    characters, repetitions = _MIN_ITEMS if _is_item(segment) else _MIN_PROSE
    length = max(characters, repetitions * period)
    return len(tail) >= length and tail[-length:-period] == tail[-length + period :]


def _is_item(segment: str) -> bool:
    """Return whether a segment may be an item of a JSON list: a string, an object, a number or a constant."""
    parts = segment.split(",")
    return '"' in segment or (len(parts) > 1 and all(len(part.strip()) <= _MAX_CONSTANT for part in parts))
