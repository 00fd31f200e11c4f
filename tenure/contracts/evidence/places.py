"""Define places in documents that have other parts than pages, and recognize archives, whose files are documents."""

import re
from typing import Final, NamedTuple

TAR_SUFFIXES: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_OTHER_SUFFIXES: Final = (".zip", ".mbox", ".gz", ".bz2", ".xz")
_MAILBOX: Final = "mbox"
"""Name of a mailbox in a folder of Apple Mail."""


class DocumentPlace(NamedTuple):
    """Part of a document: a moment of a recording, an attachment of a message, or a cell of a sheet."""

    start: int
    """Offset of its first character in the text of the document."""
    label: str
    """Words for readers, as in `00:12:31`, `attachment plan.docx` or `sheet Costs, cell B7`; empty for the text between
    two such parts."""


# "sheet Costs, cell B7", "attachment plan.xlsx, sheet Costs, cells B7:D7", "cell B7" in a CSV file.
_CELLS: Final = re.compile(
    r"(?P<before>.*, |)cells? (?P<left>[A-Z]+)(?P<top>\d+)(?::(?P<right>[A-Z]+)(?P<bottom>\d+))?", re.DOTALL
)
_SHEET: Final = "sheet "


class CellRange(NamedTuple):
    """Cells of a sheet; rows and columns are counted from 1."""

    before: str
    """Words before the cells in a label, as in `sheet Costs, `; empty in a file that is one sheet."""
    top: int
    left: int
    bottom: int
    right: int

    @property
    def label(self) -> str:
        """Words for readers."""
        return f"{self.before}{'cells' if ':' in self.names else 'cell'} {self.names}"

    @property
    def names(self) -> str:
        """Name of the cell, or of the first and the last one, as in `B7:D7`."""
        first, last = f"{format_column(self.left)}{self.top}", f"{format_column(self.right)}{self.bottom}"
        return first if first == last else f"{first}:{last}"

    @property
    def sheet(self) -> str:
        """Name of the sheet; empty in a file that is one sheet."""
        return self.before.removeprefix(_SHEET).removesuffix(", ")


def format_sheet(name: str) -> str:
    """Return the words before the parts of a sheet in a label."""
    return f"{_SHEET}{name}, " if name else ""


def format_column(number: int) -> str:
    """Return the letters of a column, as spreadsheet programs show them."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def parse_cells(label: str) -> CellRange | None:
    """Return the cells that a label of a place names, or None if it names none."""
    match = _CELLS.fullmatch(label)
    if match is None:
        return None
    before, left, top, right, bottom = match.groups()
    last = (int(bottom), _parse_column(right)) if right else (int(top), _parse_column(left))
    return CellRange(before, int(top), _parse_column(left), *last)


def _parse_column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def join_places(first: str, last: str) -> str:
    """Return the label of a quote between two places: all cells between them if both are cells, or the first place."""
    start, end = parse_cells(first), parse_cells(last)
    if start is None or end is None or start.before != end.before:
        return first
    left, right = min(start.left, end.left), max(start.right, end.right)
    return CellRange(start.before, start.top, left, max(start.bottom, end.bottom), right).label


def is_presentation(path: str) -> bool:
    """Return whether the pages of a document are slides, by its name."""
    return path.lower().endswith((".pptx", ".odp"))


def is_archive(path: str) -> bool:
    """Return whether a path is that of an archive or a mailbox, by its name."""
    name = path.rpartition("/")[2].lower()
    return name.endswith((*TAR_SUFFIXES, *_OTHER_SUFFIXES)) or name == _MAILBOX
