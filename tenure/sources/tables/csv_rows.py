"""Read the records of CSV files as rows, as spreadsheet programs number them."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final

import duckdb

from tenure.files.opening import FileRefused, open_file
from tenure.sources.tables.catalogue import MAX_CELL_LENGTH, SheetOrigin, Table

_SNIFFED_ROWS: Final = 1_000
_MAX_SKIPPED: Final = 100
"""Titles and blank records before and between the rows of a sample."""


def read_records(path: Path) -> Iterator[list[str]]:
    """Yield the records of a file, also blank ones, with the separator that the SQL engine finds.

    Raises:
        FileRefused: the path contains a symbolic link, or is not a regular file.
        duckdb.Error: the engine finds no table.
        csv.Error: a cell has more than 131,072 characters.
        ValueError: the file is not UTF-8.
    """
    with open_file(path) as opened:
        with closing(duckdb.connect(":memory:")) as connection:
            sql = "SELECT Delimiter, Quote FROM sniff_csv(?, sample_size = ?, strict_mode = false)"
            ((delimiter, quote),) = connection.execute(sql, [str(opened.pinned_path), _SNIFFED_ROWS]).fetchall()
        with opened.pinned_path.open(encoding="utf-8-sig", newline="") as file:
            yield from csv.reader(file, delimiter=delimiter, quotechar=quote if len(quote) == 1 else '"')


def locate_rows(path: Path, table: Table) -> SheetOrigin | None:
    """Return the place of the rows of a table in its file; None if they are not found there in their order."""
    names = [column.name for column in table.columns]
    try:
        records = list(enumerate(islice(read_records(path), len(table.sample) + _MAX_SKIPPED), 1))
    except (FileRefused, duckdb.Error, csv.Error, ValueError):
        return None
    header = next((number for number, record in records if _clean(record[: len(names)]) == names), None)
    rows = [(number, record) for number, record in records if number > (header or 0) and any(record)]
    for index in (n for n, column in enumerate(table.columns) if column.kind == "text"):
        for (_, record), values in zip(rows, table.sample, strict=False):
            if _clean(record[index : index + 1]) != _clean([str(values[index] or "")]):
                return None
    if len(rows) < len(table.sample):
        return None
    numbers = tuple(number for number, _ in rows[: len(table.sample)])
    return SheetOrigin("", tuple(range(1, len(names) + 1)), header, numbers)


def _clean(cells: Sequence[str]) -> list[str]:
    """Return cells without white space around them, and as short as those of a sample."""
    return [cell.strip()[:MAX_CELL_LENGTH] for cell in cells]
