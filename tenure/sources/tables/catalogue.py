"""Tables: which files and databases hold some, and what is known of them.

A table has a name that SQL uses: a file's name for a file that is one table, and `database.table` inside a
database.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Literal

Format = Literal["csv", "tsv", "parquet", "jsonl", "sqlite", "postgres", "sheets"]

Value = str | int | float | bool | None
"""A cell: what JSON can carry. Dates and times are texts in ISO 8601."""

Kind = Literal["number", "text", "date", "boolean", "other"]
"""What a column holds, as far as questions care."""

FORMATS: Final[dict[str, Format]] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "sheets"),
}
"""Formats by suffix."""

SQLITE_MAGIC: Final = b"SQLite format 3\x00"
"""What every SQLite file starts with; `.db` is also the suffix of others."""


@dataclass(frozen=True)
class Database:
    """Where tables are: a file, or the address of a PostgreSQL database."""

    name: str
    """How SQL names it: the table itself for a file that is one, else what its tables stand in."""
    location: str
    """Absolute path of the file, or address of the database."""
    format: Format
    """What it is."""


@dataclass(frozen=True)
class Column:
    """A column and what it holds; figures are there where the table could be looked through in time."""

    name: str
    """Its name."""
    kind: Kind
    """What it holds."""
    empty: int = 0
    """Rows without a value."""
    distinct: int | None = None
    """Different values; None where they were not counted."""
    least: Value = None
    """The least value."""
    greatest: Value = None
    """The greatest value."""
    mean: float | None = None
    """The mean of numbers."""
    total: Value = None
    """The sum of numbers."""
    common: tuple[tuple[Value, int], ...] = ()
    """The most common values with their rows; all of them where there are few."""


@dataclass(frozen=True)
class Table:
    """A table as it is described to people and models."""

    name: str
    """How SQL names it."""
    columns: tuple[Column, ...]
    """Its columns, in order."""
    rows: int | None = None
    """How many rows it has; None where they were not counted."""
    sample: tuple[tuple[Value, ...], ...] = ()
    """Its first rows."""


@dataclass(frozen=True)
class ResultTable:
    """What a query returned."""

    columns: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[tuple[Value, ...], ...]
    """The rows, as many as may be kept."""
    truncated: bool = False
    """Whether there were more rows."""
    read: tuple[str, ...] = ()
    """The tables it was read from, as SQL names them."""


def format_of(path: PurePath) -> Format | None:
    """Return the format that a file's name promises, None where it promises no table."""
    return FORMATS.get(path.suffix.lower())


def identifier(text: str) -> str:
    """Return a text as a name that SQL takes without quotes."""
    name = re.sub(r"\W+", "_", text.lower(), flags=re.ASCII).strip("_") or "table"
    return f"t_{name}" if name[0].isdigit() else name


def databases(paths: Iterable[str]) -> tuple[Database, ...]:
    """Return the files among paths that hold tables, each under a name of its own.

    Files of one name are told apart by their suffixes, then by the folders above them, as many as it takes.
    """
    found = sorted({path for path in paths if format_of(PurePath(path))})
    step = dict.fromkeys(found, 0)
    while clashing := _clashing(step):
        for path in clashing:
            step[path] += 1
    return tuple(Database(_name(path, step[path]), path, FORMATS[PurePath(path).suffix.lower()]) for path in found)


def _name(path: str, step: int) -> str:
    """Return the name of a file: its own, then with its suffix, then with one more folder at each step."""
    whole = PurePath(path)
    folders = whole.parts[max(len(whole.parts) - step, 0) : -1] if step > 1 else ()
    return identifier("_".join((*folders, whole.stem, *([whole.suffix[1:]] if step else ()))))


def _clashing(step: dict[str, int]) -> list[str]:
    """Return the paths that share their name with another and could still have a longer one."""
    names: dict[str, list[str]] = {}
    for path, steps in step.items():
        names.setdefault(_name(path, steps), []).append(path)
    return [p for shared in names.values() if len(shared) > 1 for p in shared if step[p] <= len(PurePath(p).parts)]
