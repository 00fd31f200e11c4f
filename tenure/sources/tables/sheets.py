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
from tenure.sources.tables.catalogue import make_column_names, make_unique, to_sql_identifier

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
    table: pa.Table


def read_sheets(path: Path) -> Iterator[Sheet]:
    """Yield the visible sheets of a workbook that are not empty.

    Raises:
        Unreadable: the workbook is encrypted, damaged or too large.
    """
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


def _read_workbook(workbook: CalamineWorkbook) -> Iterator[Sheet]:
    names: set[str] = set()
    cells = 0
    for metadata in workbook.sheets_metadata:
        if metadata.typ != SheetTypeEnum.WorkSheet or metadata.visible != SheetVisibleEnum.Visible:
            continue
        sheet = workbook.get_sheet_by_name(metadata.name)
        cells += sheet.height * sheet.width
        if cells > _MAX_CELLS:
            raise Unreadable(f"has more than {_MAX_CELLS} cells")
        rows = [[None if cell == "" else cell for cell in row] for row in sheet.to_python()]
        if table := _build_table([row for row in rows if any(cell is not None for cell in row)]):
            yield Sheet(make_unique(to_sql_identifier(metadata.name), names), table)


def _build_table(rows: Sequence[Sequence[SheetCell]]) -> pa.Table | None:
    """Return rows as a table with the names of the header, or None if there are no rows below it."""
    columns, body = _split_header(rows)
    if not body:
        return None
    values = [[row[index] for row in body] for index in range(len(columns))]
    filled = [index for index, column in enumerate(values) if any(cell is not None for cell in column)]
    return pa.table({columns[index]: _build_column(values[index]) for index in filled})


def _split_header(rows: Sequence[Sequence[SheetCell]]) -> tuple[list[str], Sequence[Sequence[SheetCell]]]:
    """Return the names of the columns and the rows below them; columns without a header are numbered."""
    width = max(map(len, rows), default=0)
    for index, row in enumerate(rows[:_MAX_HEADER_ROWS]):
        texts = [cell for cell in row if cell is not None]
        if len(texts) >= max(1, 0.6 * width):
            if all(isinstance(cell, str) for cell in texts):
                return make_column_names(row), rows[index + 1 :]
            break
    return make_column_names([None] * width), rows


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
    return pa.array([None if cell is None else _format_cell(cell) for cell in column], pa.string())


def _is_whole(cell: SheetCell) -> bool:
    """Return whether a number is an integer that a float represents exactly: sheets store only floats."""
    return isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53


def _format_cell(cell: SheetCell) -> str:
    if isinstance(cell, float) and _is_whole(cell):
        return str(int(cell))
    return cell.isoformat() if isinstance(cell, date | datetime) else str(cell)
