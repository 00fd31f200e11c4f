"""Parse durations and points in time from the command line; imports nothing slow, since the parser needs it."""

import argparse
import re
from datetime import UTC, datetime

from tenure.contracts.run.limits import MAX_SECONDS


def parse_duration(value: str) -> float:
    """Parse a duration with its unit and return seconds."""
    written = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", value.strip())
    seconds = float(written[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[written[2]] if written else 0.0
    if not 0 < seconds <= MAX_SECONDS:
        raise argparse.ArgumentTypeError("must be a length of time such as 90s, 30m, 2h or 1d, at most ten years")
    return seconds


def parse_datetime(value: str) -> datetime:
    """Parse an ISO 8601 time; without a time zone it is in UTC."""
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        raise argparse.ArgumentTypeError("must be a moment such as 2026-01-31 or 2026-01-31T08:00+01:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
