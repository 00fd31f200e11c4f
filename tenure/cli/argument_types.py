"""Parse values of the command line; imports nothing slow, since the parser needs it."""

import argparse
import math
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

from tenure.algorithms.text import durations


def parse_duration(value: str) -> float:
    """Parse a duration with its unit and return seconds."""
    try:
        return durations.parse_duration(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse_datetime(value: str) -> datetime:
    """Parse an ISO 8601 time; without a time zone it is in UTC."""
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise argparse.ArgumentTypeError("must be a moment such as 2026-01-31 or 2026-01-31T08:00+01:00") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def parse_text(value: str) -> str:
    """Accept a non-empty text."""
    if not value.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    return value


def parse_question(value: str) -> str:
    """Accept a non-empty text, `@FILE` for the text of an existing file, or `-` for standard input."""
    try:
        if value == "-":
            return parse_text(sys.stdin.read())
        if value.startswith("@") and (path := parse_path(value[1:])).is_file():
            return parse_text(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"cannot be read: {error}") from None
    return parse_text(value)


def parse_language(value: str) -> str:
    """Accept the name or the code of a language."""
    if not re.fullmatch(r"[^\W\d_]+(?:[ -][^\W_]+){0,3}", value.strip()) or len(value) > 40:
        raise argparse.ArgumentTypeError("must be the name or the code of a language, such as German or pt-BR")
    return value.strip()


def parse_path(value: str) -> Path:
    """Accept a path and expand `~`."""
    return Path(value).expanduser()


def parse_money(value: str) -> float:
    """Accept a positive amount."""
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError("must be an amount in US dollars above 0, such as 0.50")
    return number


class IntegerRange:
    """Argument type for integers of a range.

    Attributes:
        minimum: smallest allowed integer.
        maximum: largest allowed integer.
    """

    def __init__(self, minimum: int, maximum: int) -> None:
        self.minimum, self.maximum = minimum, maximum

    def __call__(self, value: str) -> int:
        """Parse an integer."""
        try:
            number = int(value)
        except ValueError:
            number = self.minimum - 1
        if not self.minimum <= number <= self.maximum:
            raise argparse.ArgumentTypeError(f"must be a whole number from {self.minimum} to {self.maximum}")
        return number
