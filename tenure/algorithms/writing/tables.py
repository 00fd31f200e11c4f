"""Fold what the rows or columns of a table share, so that only differences remain in it."""

from collections.abc import Iterable, Sequence

from tenure.algorithms.claims.citations import combine_claims
from tenure.algorithms.text.sentences import normalize_sentence
from tenure.contracts.evidence.passages import Block, Claim

MIN_SHARED_CELLS = 2
"""Minimum number of equal cells of a row or column that is folded."""


def fold_shared_cells(block: Block) -> tuple[Block, ...]:
    """Return a table without the rows and columns whose cells are all equal, and what they state as definitions.

    A definition names everything that shares it, so that a common rule does not look like a difference.
    """
    rows = list(dict.fromkeys(claim.label for claim in block.claims))
    columns = list_columns([(claim.label, claim.column) for claim in block.claims])
    cells = {(claim.label, claim.column): claim for claim in block.claims}
    if len(cells) < len(block.claims):
        return (block,)
    shared_rows = [row for row in rows if _is_shared([cells.get((row, column)) for column in columns])]
    other_rows = [row for row in rows if row not in shared_rows]
    shared_columns = [column for column in columns if _is_shared([cells.get((row, column)) for row in other_rows])]
    folded = [
        *(_merge([cells[row, column] for column in columns], row, columns) for row in shared_rows),
        *(_merge([cells[row, column] for row in other_rows], column, other_rows) for column in shared_columns),
    ]
    unfolded = tuple(c for c in block.claims if c.label in other_rows and c.column not in shared_columns)
    return (
        *([block.model_copy(update={"claims": unfolded})] if unfolded else ()),
        *([block.model_copy(update={"kind": "definitions", "claims": tuple(folded)})] if folded else ()),
    )


def list_columns(cells: Iterable[tuple[str, str]]) -> list[str]:
    """Return the columns of a table in order; a column that some rows lack comes after the one before it in a row.

    Args:
        cells: row and column of each cell, row by row.
    """
    rows: dict[str, list[str]] = {}
    for row, column in cells:
        rows.setdefault(row, []).append(column)
    columns: list[str] = []
    for names in rows.values():
        position = 0
        for name in names:
            if name in columns:
                position = columns.index(name) + 1
            else:
                columns.insert(position, name)
                position += 1
    return columns


def _is_shared(cells: Sequence[Claim | None]) -> bool:
    """Return whether the cells of a whole row or column say the same."""
    contents = {(cell.kind, normalize_sentence(cell.text)) if cell else None for cell in cells}
    return len(cells) >= MIN_SHARED_CELLS and len(contents) == 1 and None not in contents


def _merge(cells: Sequence[Claim], name: str, sharing: Sequence[str]) -> Claim:
    """Return equal cells as one definition."""
    return combine_claims(cells).model_copy(update={"label": f"{name} ({', '.join(sharing)})", "column": ""})
