"""Workbooks (XLSX, XLSB, XLS, ODS) as tables: what a sheet's cells say, each column with one type."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetTypeEnum, SheetVisibleEnum

from tenure.sources.document.document import Unreadable
from tenure.sources.document.zip_package import DAMAGE, check_package
from tenure.sources.tables.catalogue import identifier

_LIMIT_BYTES: Final = 50_000_000
_CELLS: Final = 2_000_000
"""Cells of a workbook; all of them are held in memory."""
_HEAD: Final = 20
"""Rows among which the names of the columns are looked for: titles and remarks may stand above them."""
_PACKAGES: Final = frozenset((".xlsx", ".xlsm", ".xlsb", ".ods"))

Cell = object
"""A number, a text, a truth value, a date or time; None where there is nothing."""


class Sheet(NamedTuple):
    """A sheet that holds a table."""

    name: str
    """Its name as SQL takes it."""
    table: pa.Table
    """Its rows."""


def sheets(path: Path) -> Iterator[Sheet]:
    """Yield the visible sheets of a workbook that hold anything.

    Raises:
        Unreadable: it is encrypted or damaged, or too large.
    """
    try:
        if path.stat().st_size > _LIMIT_BYTES:
            raise Unreadable(f"is larger than {_LIMIT_BYTES / 1e6:g} MB")
        if path.suffix.lower() in _PACKAGES:
            check_package(path.read_bytes(), _LIMIT_BYTES, "the old binary Excel format")
        with CalamineWorkbook.from_path(str(path)) as workbook:
            yield from _sheets(workbook)
    except PasswordError as error:
        raise Unreadable("is encrypted") from error
    except (CalamineError, OSError, *DAMAGE) as error:
        raise Unreadable("is not a valid workbook") from error


def _sheets(workbook: CalamineWorkbook) -> Iterator[Sheet]:
    names: set[str] = set()
    cells = 0
    for told in workbook.sheets_metadata:
        if told.typ != SheetTypeEnum.WorkSheet or told.visible != SheetVisibleEnum.Visible:
            continue
        sheet = workbook.get_sheet_by_name(told.name)
        cells += sheet.height * sheet.width
        if cells > _CELLS:
            raise Unreadable(f"has more than {_CELLS} cells")
        rows = [[None if cell == "" else cell for cell in row] for row in sheet.to_python()]
        if table := _table([row for row in rows if any(cell is not None for cell in row)]):
            yield Sheet(_unused(identifier(told.name), names), table)


def _table(rows: Sequence[Sequence[Cell]]) -> pa.Table | None:
    """Return rows as a table under the names that stand at their head; None where there are none below it."""
    columns, body = _headed(rows)
    if not body:
        return None
    values = [[row[place] for row in body] for place in range(len(columns))]
    kept = [place for place, column in enumerate(values) if any(cell is not None for cell in column)]
    return pa.table({columns[place]: _typed(values[place]) for place in kept})


def _headed(rows: Sequence[Sequence[Cell]]) -> tuple[list[str], Sequence[Sequence[Cell]]]:
    """Return the names of the columns and the rows below them; columns are numbered where no row names them."""
    width = max(map(len, rows), default=0)
    for place, row in enumerate(rows[:_HEAD]):
        said = [cell for cell in row if cell is not None]
        if len(said) >= max(1, 0.6 * width):
            if all(isinstance(cell, str) for cell in said):
                return _named(row), rows[place + 1 :]
            break
    return _named([None] * width), rows


def _named(row: Sequence[Cell]) -> list[str]:
    names: set[str] = set()
    return [_unused(" ".join(str(cell or f"column {place}").split()), names) for place, cell in enumerate(row, 1)]


def _unused(name: str, names: set[str]) -> str:
    """Return a name, numbered where it is taken: SQL does not tell capitals apart."""
    free, number = name, 1
    while free.lower() in names:
        number += 1
        free = f"{name}_{number}"
    names.add(free.lower())
    return free


def _typed(column: Sequence[Cell]) -> pa.Array:
    """Return a column with the type of all its cells, as text where they are of several."""
    kinds = {type(cell) for cell in column if cell is not None}
    if kinds == {float} and all(_is_whole(cell) for cell in column if cell is not None):
        return pa.array([int(cell) if isinstance(cell, float) else None for cell in column], pa.int64())
    if kinds == {date, datetime}:
        column = [datetime.combine(cell, time.min) if type(cell) is date else cell for cell in column]
        kinds = {datetime}
    if len(kinds) == 1 and kinds <= {float, int, bool, str, date, datetime}:
        return pa.array(column)
    return pa.array([None if cell is None else _shown(cell) for cell in column], pa.string())


def _is_whole(cell: Cell) -> bool:
    """Tell whether a number is an integer that a float holds exactly: a sheet knows only floats."""
    return isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53


def _shown(cell: Cell) -> str:
    if isinstance(cell, float) and _is_whole(cell):
        return str(int(cell))
    return cell.isoformat() if isinstance(cell, date | datetime) else str(cell)
