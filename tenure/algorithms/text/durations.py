"""Read and write lengths of time with their unit, such as `90s`, `30m`, `2h` or `1d`."""

import re
from typing import Final

from tenure.contracts.run.limits import MAX_SECONDS

_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
"""Number and unit: `1.5h`."""


def parse_duration(text: str) -> float:
    """Return a length of time in seconds.

    Raises:
        ValueError: the text is no length of time, or more than ten years.
    """
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not 0 < seconds <= MAX_SECONDS:
        raise ValueError("must be a length of time such as 90s, 30m, 2h or 1d, at most ten years")
    return seconds


def write_duration(seconds: float) -> str:
    """Return a length of time in the largest unit of which it is a multiple."""
    unit, length = next(((unit, length) for unit, length in _UNITS.items() if seconds % length == 0), ("s", 1))
    return f"{seconds / length:g}{unit}"
