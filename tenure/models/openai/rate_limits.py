"""Parse the headers by which servers state how long to wait before the next request."""

import re
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

_NUMBER = re.compile(r"\d+(\.\d+)?")  # "12", "0.5".
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")  # "6m" and "0s" of "6m0s", "20ms".
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_EPOCH = 1_000_000_000.0
"""Larger numbers are points in time, not durations: no server requests a wait of thirty years."""
_RESET = "x-ratelimit-reset"


def parse_retry_after(headers: Mapping[str, str], *, limits: bool = True) -> float | None:
    """Return the seconds to wait, or None if the headers do not state them.

    Args:
        headers: the response's headers.
        limits: whether to use the `x-ratelimit-reset-*` headers; servers send them with every response, but they state
            the time to wait only after a 429.
    """
    values = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = values.get("retry-after-ms", "")
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    wait = _parse_seconds(values.get("retry-after", ""))
    return _parse_reset(values) if wait is None and limits else wait


def _parse_seconds(value: str) -> float | None:
    """Parse a number, a point in time, a duration such as `6m0s`, or an HTTP date."""
    if _NUMBER.fullmatch(value):
        return _subtract_now(float(value))
    parts = _DURATION.findall(value)
    if parts and "".join(number + unit for number, unit in parts) == value:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:  # neither number nor duration nor date
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - time.time())


def _subtract_now(number: float) -> float:
    if number < _EPOCH:
        return number
    seconds = number / 1000 if number >= _EPOCH * 1000 else number
    return max(0.0, seconds - time.time())


def _parse_reset(headers: Mapping[str, str]) -> float | None:
    """Return the reset time of the exhausted limit, or the longest one if none is marked as exhausted."""
    resets = {name: _parse_seconds(value) for name, value in headers.items() if name.startswith(_RESET)}
    parsed = {name: seconds for name, seconds in resets.items() if seconds is not None}
    exhausted = [seconds for name, seconds in parsed.items() if headers.get(name.replace("reset", "remaining")) == "0"]
    return max(exhausted or parsed.values(), default=None)
