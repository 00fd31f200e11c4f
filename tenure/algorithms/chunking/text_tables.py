"""Read the tables in the stored text of a document, whose rows are lines `| a | b |`."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

# Consecutive lines "| a | b |".
_TABLE = re.compile(r"^\| .* \|(?:\n\| .* \|)*$", re.MULTILINE)
# "1,234.5", "-5", "(3.4)", "12 %", "$ 5", "€12": a number with at most one mark before and after it.
_NUMBER = re.compile(r"(?P<before>[^\w\s().,+−-]?)\s*(?P<number>\(?[-−+]?\d[\d,]*\.?\d*\)?)\s*(?P<after>[^\w\s().,]?)")
_MAX_HEADER_ROWS: Final = 6


class TableRow(NamedTuple):
    """Row with its offset in the text."""

    start: int
    cells: tuple[str, ...]


class DocumentTable(NamedTuple):
    """Table of a document."""

    rows: tuple[TableRow, ...]

    @property
    def header_count(self) -> int:
        """Number of rows above the first one with numbers; 1 if no row has numbers."""
        return next((n for n, row in enumerate(self.rows[:_MAX_HEADER_ROWS]) if n and _has_numbers(row.cells)), 1)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns: the cells of the header, the upper ones also for empty cells to their right."""
        names: list[list[str]] = [[] for _ in self.rows[0].cells]
        header = self.rows[: self.header_count]
        for number, row in enumerate(header):
            above = ""
            for name, cell in zip(names, row.cells, strict=False):
                above = cell or (above if number < len(header) - 1 and name is not names[0] else "")
                name += [above] if above and above not in name else []
        return tuple(" ".join(name) for name in names)

    @property
    def body(self) -> tuple[TableRow, ...]:
        """Rows below the header."""
        return self.rows[self.header_count :]


def list_document_tables(text: str) -> Iterator[DocumentTable]:
    """Yield the tables of a document in normal form."""
    for block in _TABLE.finditer(text):
        start = block.start()
        rows = []
        for line in block[0].split("\n"):
            rows.append(TableRow(start, tuple(line[2:-2].split(" | "))))
            start += len(line) + 1
        yield DocumentTable(tuple(rows))


def parse_number(text: str) -> float | None:
    """Return the number in a cell, with at most one mark such as "%" or "$" around it; None for other texts."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    digits = match["number"].replace(",", "").replace("−", "-")
    is_negative = digits.startswith("(") and digits.endswith(")")
    try:
        number = float(digits.strip("()"))
    except ValueError:
        return None
    return -number if is_negative else number


def _has_numbers(cells: Sequence[str]) -> bool:
    """Return whether most cells after the first are numbers."""
    others = [cell for cell in cells[1:] if cell]
    return bool(others) and sum(parse_number(cell) is not None for cell in others) > 0.5 * len(others)
