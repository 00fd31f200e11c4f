"""How long a server asks to wait, from the headers that servers use to say so."""

import re
import time
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

_NUMBER = re.compile(r"\d+(\.\d+)?")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhd])")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_EPOCH = 1_000_000_000.0
"""Numbers from here on are points in time, not lengths: no server asks to wait for thirty years."""
_RESET = "x-ratelimit-reset"


def retry_after(headers: Mapping[str, str], *, limits: bool = True) -> float | None:
    """Return the seconds to wait, or None where the headers do not say.

    Args:
        headers: the response's headers.
        limits: whether the `x-ratelimit-reset-*` headers count; servers send them with every
            response, but only after a refusal for too many requests do they say when to come back.
    """
    named = {name.lower(): value.strip() for name, value in headers.items()}
    asked = _milliseconds(named.get("retry-after-ms", ""))
    if asked is None:
        asked = _seconds(named.get("retry-after", ""))
    return _reset(named) if asked is None and limits else asked


def _milliseconds(value: str) -> float | None:
    return float(value) / 1000 if _NUMBER.fullmatch(value) else None


def _seconds(value: str) -> float | None:
    """Read a number, a point in time, a duration such as `6m0s`, or an HTTP date."""
    if _NUMBER.fullmatch(value):
        return _from_now(float(value))
    parts = _DURATION.findall(value)
    if parts and "".join(number + unit for number, unit in parts) == value:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:  # neither number nor duration nor date: the server said nothing we can use
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - time.time())


def _from_now(number: float) -> float:
    if number < _EPOCH:
        return number
    seconds = number / 1000 if number >= _EPOCH * 1000 else number
    return max(0.0, seconds - time.time())


def _reset(headers: Mapping[str, str]) -> float | None:
    """Return the reset of the limit that is used up; the longest one where none is marked as such."""
    resets = {name: _seconds(value) for name, value in headers.items() if name.startswith(_RESET)}
    known = {name: seconds for name, seconds in resets.items() if seconds is not None}
    spent = [seconds for name, seconds in known.items() if headers.get(name.replace("reset", "remaining")) == "0"]
    return max(spent or known.values(), default=None)
