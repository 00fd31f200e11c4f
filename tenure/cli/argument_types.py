"""Lengths of time and moments as people write them. Imports nothing slow, since the grammar rests on it."""

import argparse
import re
from datetime import UTC, datetime

LONGEST = 315_360_000.0
"""Seconds of ten years."""


def length_of_time(value: str) -> float:
    """Accept a length of time with its unit; return seconds."""
    written = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", value.strip())
    seconds = float(written[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[written[2]] if written else 0.0
    if not 0 < seconds <= LONGEST:
        raise argparse.ArgumentTypeError("must be a length of time such as 90s, 30m, 2h or 1d, ten years at the most")
    return seconds


def moment(value: str) -> datetime:
    """Accept a moment in ISO 8601; one without a time zone is in UTC."""
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        raise argparse.ArgumentTypeError("must be a moment such as 2026-01-31 or 2026-01-31T08:00+01:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
