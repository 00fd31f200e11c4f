"""Read workbooks (XLSX, XLSB, XLS, ODS) as tables with one type per column."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from io import BytesIO
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

from tenure.files.opening import FileRefused, open_file
from tenure.sources.document.document import Unreadable
from tenure.sources.document.zip_package import PACKAGE_ERRORS, check_package
from tenure.sources.tables.catalogue import (
    DEFAULT_SAMPLE_ROWS,
    CellText,
    SheetOrigin,
    make_column_names,
    make_unique,
    to_sql_identifier,
)

_MAX_BYTES: Final = 50_000_000
_MAX_CELLS: Final = 2_000_000
"""Maximum number of cells of a workbook; all of them are kept in memory."""
_MAX_HEADER_ROWS: Final = 20
"""Number of rows in which the header is searched; titles and remarks may precede it."""
_PACKAGES: Final = frozenset((".xlsx", ".xlsm", ".xlsb", ".ods"))

SheetCell = object
"""Number, text, truth value, date or time; None for an empty cell."""


class Sheet(NamedTuple):
    """Sheet with a table."""

    name: str
    """SQL name."""
    table: pa.Table
    origin: SheetOrigin


class FilledRow(NamedTuple):
    """Row that is not empty."""

    number: int
    """Number in the sheet, from 1."""
    cells: Sequence[SheetCell]


class SheetGrid(NamedTuple):
    """Cells of a sheet."""

    title: str
    left: int
    """Number of the first column, from 1."""
    rows: Sequence[FilledRow]
    is_hidden: bool


def read_sheets(path: Path) -> Iterator[Sheet]:
    """Yield the sheets of a workbook that are not empty, also those that are hidden.

    Raises:
        Unreadable: the workbook is encrypted, damaged or too large.
    """
    names: set[str] = set()
    for grid in read_grids(path):
        if sheet := _build_sheet(grid, names):
            yield sheet


def read_grids(path: Path) -> Iterator[SheetGrid]:
    """Yield the cells of each sheet of a workbook; see `read_sheets`."""
    try:
        with open_file(path.absolute()) as opened:
            data = opened.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise Unreadable(f"is larger than {_MAX_BYTES / 1e6:g} MB")
        if path.suffix.lower() in _PACKAGES:
            check_package(data, _MAX_BYTES, "the old binary Excel format")
        with CalamineWorkbook.from_filelike(BytesIO(data)) as workbook:
            yield from _read_workbook(workbook)
    except FileRefused as error:
        raise Unreadable(error.reason) from error
    except PasswordError as error:
        raise Unreadable("is encrypted") from error
    except (CalamineError, OSError, *PACKAGE_ERRORS) as error:
        raise Unreadable("is not a valid workbook") from error


def _read_workbook(workbook: CalamineWorkbook) -> Iterator[SheetGrid]:
    cells = 0
    for metadata in workbook.sheets_metadata:
        if metadata.typ != SheetTypeEnum.WorkSheet:
            continue
        sheet = workbook.get_sheet_by_name(metadata.name)
        cells += sheet.height * sheet.width
        if cells > _MAX_CELLS:
            raise Unreadable(f"has more than {_MAX_CELLS} cells")
        top, left = sheet.start or (0, 0)
        rows = [[None if cell == "" else cell for cell in row] for row in sheet.to_python()]
        filled = [FilledRow(n, row) for n, row in enumerate(rows, top + 1) if any(cell is not None for cell in row)]
        yield SheetGrid(metadata.name, left + 1, filled, metadata.visible != SheetVisibleEnum.Visible)


def _build_sheet(grid: SheetGrid, names: set[str]) -> Sheet | None:
    """Return the table of a sheet with the names of its header, or None if the sheet is empty."""
    title, left, rows, is_hidden = grid
    header = _find_header(rows)
    width = max((len(row.cells) for row in rows), default=0)
    columns = make_column_names([None] * width if header is None else rows[header].cells)
    body = rows if header is None else rows[header + 1 :]
    values = [[row.cells[index] for row in body] for index in range(width)]
    filled = [index for index, column in enumerate(values) if any(cell is not None for cell in column)]
    if not filled:
        return None
    origin = SheetOrigin(
        title,
        tuple(left + index for index in filled),
        None if header is None else rows[header].number,
        tuple(row.number for row in body[:DEFAULT_SAMPLE_ROWS]),
        tuple(_list_texts(row, left) for row in rows[: header or 0]),
        is_hidden,
    )
    table = pa.table({columns[index]: _build_column(values[index]) for index in filled})
    return Sheet(make_unique(to_sql_identifier(title), names), table, origin)


def _list_texts(row: FilledRow, left: int) -> tuple[CellText, ...]:
    return tuple(
        CellText(row.number, column, format_cell(cell))
        for column, cell in enumerate(row.cells, left)
        if cell is not None
    )


def _find_header(rows: Sequence[FilledRow]) -> int | None:
    """Return the index of the row that names the columns; None if there is none, or no row below it."""
    width = max((len(row.cells) for row in rows), default=0)
    for index, row in enumerate(rows[:_MAX_HEADER_ROWS]):
        texts = [cell for cell in row.cells if cell is not None]
        if len(texts) >= max(1, 0.6 * width):
            return index if all(isinstance(cell, str) for cell in texts) and index + 1 < len(rows) else None
    return None


def _build_column(column: Sequence[SheetCell]) -> pa.Array:
    """Return a column with the common type of its cells, or as text if they have several types."""
    kinds = {type(cell) for cell in column if cell is not None}
    if kinds == {float} and all(_is_whole(cell) for cell in column if cell is not None):
        return pa.array([int(cell) if isinstance(cell, float) else None for cell in column], pa.int64())
    if kinds == {date, datetime}:
        column = [datetime.combine(cell, time.min) if type(cell) is date else cell for cell in column]
        kinds = {datetime}
    if len(kinds) == 1 and kinds <= {float, int, bool, str, date, datetime}:
        return pa.array(column)
    return pa.array([None if cell is None else format_cell(cell) for cell in column], pa.string())


def _is_whole(cell: SheetCell) -> bool:
    """Return whether a number is an integer that a float represents exactly: sheets store only floats."""
    return isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53


def format_cell(cell: SheetCell) -> str:
    """Return a cell as text."""
    if isinstance(cell, float) and _is_whole(cell):
        return str(int(cell))
    return cell.isoformat() if isinstance(cell, date | datetime) else str(cell)
