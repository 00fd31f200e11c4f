"""List the tables in files and databases, and define their descriptions.

The SQL name of a table is the name of its file if the file is one table, and `database.table` inside a database, a
workbook or a document.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Literal

TableFormat = Literal["csv", "tsv", "parquet", "jsonl", "sqlite", "postgres", "sheets", "document"]

CellValue = str | int | float | bool | None
"""Value of a cell that JSON can represent; dates and times are texts in ISO 8601."""

ColumnKind = Literal["number", "text", "date", "boolean", "other"]

TABLE_FORMATS: Final[dict[str, TableFormat]] = {
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

DOCUMENT_SUFFIXES: Final = (".pdf",)
"""Suffixes of documents whose tables are read from their stored text."""

_FORMATS: Final[dict[str, TableFormat]] = {**TABLE_FORMATS, **dict.fromkeys(DOCUMENT_SUFFIXES, "document")}

TABLE_MEDIA_TYPES: Final = {
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.apache.parquet": ".parquet",
    "application/x-ndjson": ".jsonl",
}
"""Suffixes by media type; the parser of plain text declares CSV and TSV."""

DEFAULT_SAMPLE_ROWS: Final = 200
"""Number of sample rows of a table; a table with at most as many rows is shown completely."""
MAX_CELL_LENGTH: Final = 500
"""Characters of a cell of a sample or a result."""

SQLITE_MAGIC: Final = b"SQLite format 3\x00"
"""First bytes of every SQLite file; other formats use the suffix `.db`, too."""


@dataclass(frozen=True)
class Database:
    """A file with tables, or a PostgreSQL database."""

    name: str
    """SQL name: of the table for a file that is one table, otherwise of the schema."""
    location: str
    """Absolute path of the file, or connection string of the database."""
    format: TableFormat
    text: str = ""
    """Stored text of a document, which has its tables; empty for other formats."""


@dataclass(frozen=True)
class Column:
    """Column with statistics of its values, as far as they could be computed in time."""

    name: str
    kind: ColumnKind
    null_count: int = 0
    distinct_count: int | None = None
    """Number of distinct values; None if they were not counted."""
    minimum: CellValue = None
    maximum: CellValue = None
    mean: float | None = None
    total: CellValue = None
    most_common: tuple[tuple[CellValue, int], ...] = ()
    """The most common values with their counts; all values if there are few."""


@dataclass(frozen=True)
class CellText:
    """Text of a cell; rows and columns are counted from 1."""

    row: int
    column: int
    text: str


@dataclass(frozen=True)
class SheetOrigin:
    """Place of a table in its sheet; rows and columns are counted from 1."""

    sheet: str
    """Name of the sheet; empty for a file that is one sheet."""
    columns: tuple[int, ...]
    header: int | None
    """Row of the header; None for a table without one."""
    rows: tuple[int, ...]
    """Rows of the sample."""
    titles: tuple[tuple[CellText, ...], ...] = ()
    """Rows above the header."""
    is_hidden: bool = False


@dataclass(frozen=True)
class Table:
    """Description of a table for people and models."""

    name: str
    columns: tuple[Column, ...]
    row_count: int | None = None
    """Number of rows; None if they were not counted."""
    sample: tuple[tuple[CellValue, ...], ...] = ()
    origin: SheetOrigin | None = None
    """Place in a sheet; None for other tables."""


@dataclass(frozen=True)
class ResultTable:
    """Result of a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[CellValue, ...], ...]
    is_truncated: bool = False
    tables_read: tuple[str, ...] = ()
    """SQL names of the tables that the query reads."""


def detect_table_format(path: PurePath) -> TableFormat | None:
    """Return the table format of a file name, or None if it has none."""
    return _FORMATS.get(path.suffix.lower())


def to_sql_identifier(text: str) -> str:
    """Return a text as an SQL name that needs no quotes."""
    name = re.sub(r"\W+", "_", text.lower(), flags=re.ASCII).strip("_") or "table"
    return f"t_{name}" if name[0].isdigit() else name


def make_column_names(names: Iterable[object]) -> list[str]:
    """Return names of columns, each once; columns without a name are numbered."""
    taken: set[str] = set()
    return [make_unique(" ".join(str(name or f"column {n}").split()), taken) for n, name in enumerate(names, 1)]


def make_unique(name: str, names: set[str]) -> str:
    """Return a name, with a number if it is taken, and add it to the names: SQL names are case-insensitive."""
    free, number = name, 1
    while free.lower() in names:
        number += 1
        free = f"{name}_{number}"
    names.add(free.lower())
    return free


def list_databases(paths: Iterable[str]) -> tuple[Database, ...]:
    """Return the files with tables among paths, each with a unique name.

    Files of the same name are distinguished by their suffixes, then by as many parent folders as necessary.
    """
    files = sorted({path for path in paths if detect_table_format(PurePath(path))})
    step = dict.fromkeys(files, 0)
    while clashing := _find_clashing(step):
        for path in clashing:
            step[path] += 1
    return tuple(
        Database(_build_name(path, step[path]), path, _FORMATS[PurePath(path).suffix.lower()]) for path in files
    )


def _build_name(path: str, step: int) -> str:
    """Return the name of a file: its stem, from step 1 with its suffix, and with one more folder per further step."""
    full = PurePath(path)
    folders = full.parts[max(len(full.parts) - step, 0) : -1] if step > 1 else ()
    return to_sql_identifier("_".join((*folders, full.stem, *([full.suffix[1:]] if step else ()))))


def _find_clashing(step: dict[str, int]) -> list[str]:
    """Return the paths that share a name with another path and can have a longer name."""
    names: dict[str, list[str]] = {}
    for path, steps in step.items():
        names.setdefault(_build_name(path, steps), []).append(path)
    return [p for shared in names.values() if len(shared) > 1 for p in shared if step[p] <= len(PurePath(p).parts)]
