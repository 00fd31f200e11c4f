"""Read the cells of a sheet around quoted cells, as a reader of a report checks them."""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import duckdb

from tenure.contracts.evidence.corpora import SheetRow, SheetWindow
from tenure.contracts.evidence.places import format_column
from tenure.contracts.evidence.recognition import SheetPlace
from tenure.files.opening import FileRefused
from tenure.sources.document.document import Unreadable
from tenure.sources.tables.csv_rows import read_records
from tenure.sources.tables.sheets import format_cell, read_grids

_ROWS_AROUND: Final = 4
_COLUMNS_AROUND: Final = 2
_MAX_ROWS: Final = 24
"""Rows of a window; a quote of more rows is shown from its first one."""
_MAX_COLUMNS: Final = 16
_MAX_CELL_LENGTH: Final = 200


def read_window(path: Path, place: SheetPlace) -> SheetWindow:
    """Return the cells around a quote in a workbook or a file of separated values.

    Raises:
        Unreadable: the file is damaged, or has no such cells.
    """
    cells = place.cells
    first = max(1, cells.top - _ROWS_AROUND)
    last = min(cells.bottom + _ROWS_AROUND, first + _MAX_ROWS - 1)
    left = max(1, cells.left - _COLUMNS_AROUND)
    columns = range(left, min(cells.right + _COLUMNS_AROUND, left + _MAX_COLUMNS - 1) + 1)
    try:
        rows = {
            number: texts
            for number, texts in _iterate_rows(path, cells.sheet, columns, last)
            if first <= number <= last or number == place.header
        }
    except FileRefused as error:
        raise Unreadable(error.reason) from error
    except (duckdb.Error, csv.Error, ValueError, OSError) as error:
        raise Unreadable("is damaged") from error
    if not any(cells.top <= number <= cells.bottom for number in rows):
        raise Unreadable(f"has no {cells.label}")
    width = max(map(len, rows.values()))
    letters = [format_column(column) for column in columns[:width]]
    numbers = sorted({*range(first, max(rows) + 1), *rows})
    return SheetWindow(
        sheet=cells.sheet,
        label=cells.label,
        columns=tuple(letters),
        rows=tuple(SheetRow(number=n, cells=_fill(rows.get(n, []), width)) for n in numbers),
        marked_rows=(cells.top, cells.bottom),
        marked_columns=tuple(format_column(column) for column in range(cells.left, cells.right + 1)),
    )


def _iterate_rows(path: Path, sheet: str, columns: range, last: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers of rows with the texts of some columns, as far as they are filled."""
    if not sheet:
        for number, record in enumerate(islice(read_records(path), last), 1):
            yield number, _cut(record[columns.start - 1 : columns.stop - 1])
        return
    for grid in read_grids(path):
        if grid.title == sheet:
            for row in grid.rows:
                texts = [""] * (grid.left - 1) + ["" if cell is None else format_cell(cell) for cell in row.cells]
                yield row.number, _cut(texts[columns.start - 1 : columns.stop - 1])


def _cut(texts: Sequence[str]) -> list[str]:
    return [text if len(text) <= _MAX_CELL_LENGTH else f"{text[:_MAX_CELL_LENGTH]}…" for text in texts]


def _fill(texts: Sequence[str], width: int) -> tuple[str, ...]:
    return (*texts, *[""] * (width - len(texts)))
