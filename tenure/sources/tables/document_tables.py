"""Load the tables in the stored text of a document, with a type for each column."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from tenure.algorithms.chunking.text_tables import DocumentTable, parse_number
from tenure.sources.tables.catalogue import make_column_names

_MISSING: Final = frozenset(("", "-", "–", "—", "..", "...", "n/a", "n.a.", "N/A", "*"))


def build_table(table: DocumentTable) -> pa.Table | None:
    """Return a table with a type for each column, or None if it has no rows below its header."""
    names = make_column_names(table.columns)
    if not table.body:
        return None
    cells = ([dict(enumerate(row.cells)).get(n, "") for row in table.body] for n in range(len(names)))
    return pa.table({name: _convert_column(column) for name, column in zip(names, cells, strict=True)})


def _convert_column(cells: Sequence[str]) -> pa.Array:
    """Return the numbers of a column if all of its cells that say something are numbers, else the texts."""
    said = [cell for cell in cells if cell not in _MISSING]
    numbers = [parse_number(cell) for cell in said]
    if said and None not in numbers:
        values = [None if cell in _MISSING else parse_number(cell) for cell in cells]
        is_whole = all(value is None or value.is_integer() for value in values)
        return pa.array(values, pa.float64()).cast(pa.int64()) if is_whole else pa.array(values, pa.float64())
    return pa.array([cell or None for cell in cells], pa.string())
