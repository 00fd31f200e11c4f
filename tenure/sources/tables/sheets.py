"""Read workbooks (XLSX, XLSB, XLS, ODS) as tables with one type per column.

A table that the workbook defines is one table; the rest of its sheet is another, as is a sheet without any. Cells that
are merged above several columns come before the names of these columns.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from io import BytesIO
from pathlib import Path
from typing import Final, NamedTuple
from zipfile import ZipFile

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
# "xl/tables/table1.xml" of XLSX, but not "xl/tables/table1.bin" of XLSB, whose tables calamine does not read; it ends
# with a panic if it looks for tables in some packages without any.
_TABLE: Final = re.compile(r"xl/tables/[^/]+\.xml")
_DEFAULT_NAME: Final = re.compile(r"[^\W\d_]+\d+")  # "Table1", "Tabelle12": the name of the sheet says more.

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
    cells: list[SheetCell]


class SheetGrid(NamedTuple):
    """Cells of a sheet."""

    title: str
    left: int
    """Number of the first column, from 1."""
    rows: Sequence[FilledRow]
    is_hidden: bool
    spans: Sequence["MergedCells"] = ()
    """Merged cells of one row."""
    tables: Sequence["DefinedTable"] = ()


class MergedCells(NamedTuple):
    """Cells of a row that are merged; row and columns are counted from 1."""

    row: int
    first: int
    last: int


class DefinedTable(NamedTuple):
    """Table that a workbook defines; rows and columns are counted from 1."""

    name: str
    columns: Sequence[str]
    left: int
    first: int
    """First row below the header."""
    last: int


def read_sheets(path: Path) -> Iterator[Sheet]:
    """Yield the sheets of a workbook that are not empty, also those that are hidden.

    Raises:
        Unreadable: the workbook is encrypted, damaged or too large.
    """
    names: set[str] = set()
    for grid in read_grids(path):
        yield from _split_sheet(grid, names)


def read_grids(path: Path) -> Iterator[SheetGrid]:
    """Yield the cells of each sheet of a workbook; see `read_sheets`."""
    try:
        with open_file(path.absolute()) as opened:
            data = opened.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise Unreadable(f"is larger than {_MAX_BYTES / 1e6:g} MB")
        has_tables = False
        if path.suffix.lower() in _PACKAGES:
            check_package(data, _MAX_BYTES, "the old binary Excel format")
            with ZipFile(BytesIO(data)) as package:
                has_tables = any(map(_TABLE.fullmatch, package.namelist()))
        with CalamineWorkbook.from_filelike(BytesIO(data), load_tables=has_tables) as workbook:
            yield from _read_workbook(workbook, has_tables=has_tables)
    except FileRefused as error:
        raise Unreadable(error.reason) from error
    except PasswordError as error:
        raise Unreadable("is encrypted") from error
    except (CalamineError, OSError, *PACKAGE_ERRORS) as error:
        raise Unreadable("is not a valid workbook") from error


def _read_workbook(workbook: CalamineWorkbook, *, has_tables: bool) -> Iterator[SheetGrid]:
    cells = 0
    tables = [*map(workbook.get_table_by_name, workbook.table_names or ())] if has_tables else []
    for metadata in workbook.sheets_metadata:
        if metadata.typ != SheetTypeEnum.WorkSheet:
            continue
        sheet = workbook.get_sheet_by_name(metadata.name)
        cells += sheet.height * sheet.width
        if cells > _MAX_CELLS:
            raise Unreadable(f"has more than {_MAX_CELLS} cells")
        top, left = sheet.start or (0, 0)
        rows: list[list[SheetCell]] = [[None if cell == "" else cell for cell in row] for row in sheet.to_python()]
        filled = [FilledRow(n, row) for n, row in enumerate(rows, top + 1) if _is_filled(row)]
        merged = sheet.merged_cell_ranges or ()
        yield SheetGrid(
            *(metadata.name, left + 1, filled, metadata.visible != SheetVisibleEnum.Visible),
            [MergedCells(a[0] + 1, a[1] + 1, b[1] + 1) for a, b in merged if a[0] == b[0] and a[1] < b[1]],
            [
                DefinedTable(table.name, table.columns, table.start[1] + 1, table.start[0] + 1, table.end[0] + 1)
                for table in tables
                if table.sheet == metadata.name and table.start and table.end
            ],
        )


def _split_sheet(grid: SheetGrid, names: set[str]) -> Iterator[Sheet]:
    """Yield the tables that a sheet defines, and the rest of it as one table."""
    rest = [FilledRow(row.number, [*row.cells]) for row in grid.rows]
    for table in sorted(grid.tables, key=lambda table: (table.first, table.left)):
        # The cells of a sheet begin and end with those that are filled, and a table may have empty columns beyond them.
        columns = range(table.left - grid.left, table.left - grid.left + len(table.columns))
        body: list[FilledRow] = []
        header = None
        for row in rest:
            cells = [row.cells[index] if 0 <= index < len(row.cells) else None for index in columns]
            if row.number == table.first - 1 and [*map(_format_header, cells)] == [*table.columns]:
                header = row.number
            elif not table.first <= row.number <= table.last:
                continue
            elif _is_filled(cells):
                body.append(FilledRow(row.number, cells))
            row.cells[:] = [None if index in columns else cell for index, cell in enumerate(row.cells)]
        is_unnamed = len(grid.tables) == 1 and _DEFAULT_NAME.fullmatch(table.name)
        name = grid.title if is_unnamed else table.name
        if sheet := _build_table(grid._replace(left=table.left), name, names, table.columns, header, body):
            yield sheet
    rest = [row for row in rest if _is_filled(row.cells)]
    header, titles, heads, body = _read_header(grid, rest)
    if sheet := _build_table(grid, grid.title, names, heads, header, body, titles):
        yield sheet


def _is_filled(cells: Sequence[SheetCell]) -> bool:
    return any(cell is not None for cell in cells)


def _format_header(cell: SheetCell) -> str:
    return "" if cell is None else format_cell(cell)


def _read_header(
    grid: SheetGrid, rows: list[FilledRow]
) -> tuple[int | None, list[FilledRow], Sequence[object], list[FilledRow]]:
    """Return the number of the header, the rows above it, the names of the columns, and the rows below."""
    width = max((len(row.cells) for row in rows), default=0)
    header = _find_wide_row(rows, width)
    if header is None or header + 1 == len(rows):
        return None, [], [None] * width, rows
    for upper in (header, header - 1):
        if upper < 0 or upper + 2 >= len(rows):
            continue
        above, lower = rows[upper].cells, rows[upper + 1].cells
        spans = _list_spans(grid, rows[upper].number, width)
        if spans and _name_parts(spans, above, lower):
            names = [*above]
            for span in spans:
                names[span.start : span.stop] = [above[span.start]] * len(span)
            joined = [" ".join(map(_format_header, pair)).strip() for pair in zip(names, lower, strict=True)]
            return rows[upper + 1].number, rows[:upper], joined, rows[upper + 2 :]
    if not all(isinstance(cell, str) for cell in rows[header].cells if cell is not None):
        return None, [], [None] * width, rows
    return rows[header].number, rows[:header], rows[header].cells, rows[header + 1 :]


def _list_spans(grid: SheetGrid, row: int, width: int) -> list[range]:
    """Return the columns of the merged cells of a row, without those beyond the cells of the sheet."""
    clamped = [
        range(max(span.first - grid.left, 0), min(span.last - grid.left + 1, width))
        for span in grid.spans
        if span.row == row
    ]
    return [span for span in clamped if len(span) > 1]


def _name_parts(spans: Sequence[range], above: Sequence[SheetCell], lower: Sequence[SheetCell]) -> bool:
    """Return whether a row names the columns below merged cells: it is no title, and what is below it no record."""
    is_title = sum(cell is not None for cell in above) < 2
    under = [lower[index] for span in spans for index in span]
    outside = set(range(len(lower))).difference(*spans)
    is_record = any(above[index] is not None and lower[index] is not None for index in outside)
    names = (*under, *(cell for cell in lower if cell is not None))
    return not is_title and not is_record and all(isinstance(cell, str) for cell in names)


def _build_table(
    grid: SheetGrid,
    name: str,
    names: set[str],
    columns: Sequence[object],
    header: int | None,
    body: Sequence[FilledRow],
    titles: Sequence[FilledRow] = (),
) -> Sheet | None:
    """Return a table of a sheet, or None without a row."""
    values = [[row.cells[index] for row in body] for index in range(len(columns))]
    filled = [index for index, column in enumerate(values) if _is_filled(column)]
    if not filled:
        return None
    origin = SheetOrigin(
        grid.title,
        tuple(grid.left + index for index in filled),
        header,
        tuple(row.number for row in body[:DEFAULT_SAMPLE_ROWS]),
        tuple(_list_texts(row, grid.left) for row in titles),
        grid.is_hidden,
    )
    heads = make_column_names(columns)
    table = pa.table({heads[index]: _build_column(values[index]) for index in filled})
    return Sheet(make_unique(to_sql_identifier(name), names), table, origin)


def _list_texts(row: FilledRow, left: int) -> tuple[CellText, ...]:
    return tuple(
        CellText(row.number, column, format_cell(cell))
        for column, cell in enumerate(row.cells, left)
        if cell is not None
    )


def _find_wide_row(rows: Sequence[FilledRow], width: int) -> int | None:
    """Return the index of the first row that fills most columns, as headers and records do; None if there is none."""
    filled = (sum(cell is not None for cell in row.cells) for row in rows[:_MAX_HEADER_ROWS])
    return next((index for index, count in enumerate(filled) if count >= max(1, 0.6 * width)), None)


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
