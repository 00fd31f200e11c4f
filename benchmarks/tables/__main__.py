"""Measure tables of PDF files: `python -m benchmarks.tables FOLDER… [--half H] [--system NAME…]`.

A folder holds PDF files with true tables: `NAME-str.xml` next to `NAME.pdf`, in the format of the table competition of
ICDAR 2013. Files are taken alternately for choosing parameters (`--half choose`) and for reporting (`--half report`).
Other systems read the same files if they are installed, for example with `uv run --with pdfplumber --with camelot-py`.

Tables are compared page by page. The rows and the columns of a table are aligned with those of the truth, in order, so
that as many cells as possible agree (GriTS, arXiv:2203.12555, with equal texts only); a cell is right if its text
without white space is that of the true cell in its row and column. A cell over several columns is right in any of them.
Precision counts the filled cells of everything that was taken for a table, recall the filled cells of the truth.
"""

import argparse
import json
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from benchmarks.recognition.__main__ import normalize
from tenure.algorithms.chunking.text_tables import list_document_tables
from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats.pdf import parse_pdf

Grid = Sequence[Sequence[str]]
"""Texts by row and column."""
Pages = Mapping[int, Sequence[Grid]]
"""Tables by the number of their page."""
MIN_FOUND: Final = 0.5
"""Share of right cells from which a table counts as found."""


class TrueTable(NamedTuple):
    """A table, or its part on one page."""

    texts: Grid
    cells: NDArray[np.intp]
    """Number of the cell at each position, from 1; 0 for none. Cells may take several positions."""


class Sample(NamedTuple):
    """A file with its true tables by page."""

    path: Path
    tables: Mapping[int, Sequence[TrueTable]]


@dataclass
class Figures:
    """Result of one system."""

    system: str
    files: int = 0
    tables: int = 0
    found: int = 0
    """Tables of which at least half of the cells are right."""
    true_cells: int = 0
    read_cells: int = 0
    right_true: int = 0
    """Cells of the truth that were read in their place."""
    right_read: int = 0
    """Cells that were read and are in their place."""
    seconds: float = 0.0
    """Computing time."""
    failed: list[str] = field(default_factory=list)
    """Files on which the system failed."""

    @property
    def precision(self) -> float:
        """Share of the read cells that are right."""
        return self.right_read / max(self.read_cells, 1)

    @property
    def recall(self) -> float:
        """Share of the true cells that were read right."""
        return self.right_true / max(self.true_cells, 1)


def read_with_tenure(path: Path) -> Pages:
    """Return the tables in the text of a document, each row on its page."""
    try:
        document = parse_pdf(path.read_bytes())
    except Unreadable:
        return {}
    pages: dict[int, list[list[Sequence[str]]]] = {}
    for table in list_document_tables(document.text):
        for page, rows in groupby(table.rows, key=lambda row: bisect_right(document.pages, row.start)):
            pages.setdefault(page, []).append([row.cells for row in rows])
    return pages


def read_with_pdfplumber(path: Path) -> Pages:
    """Read tables with pdfplumber and its default settings."""
    import pdfplumber

    with pdfplumber.open(path) as pdf:
        return {page.page_number: [_fill(rows) for rows in page.extract_tables()] for page in pdf.pages}


def read_with_camelot(path: Path, flavor: str) -> Pages:
    """Read tables with camelot."""
    import camelot

    pages: dict[int, list[Grid]] = {}
    for table in camelot.read_pdf(str(path), pages="all", flavor=flavor, suppress_stdout=True):
        pages.setdefault(table.page, []).append(_fill(table.df.values.tolist()))
    return pages


def _fill(rows: Sequence[Sequence[Any]]) -> Grid:
    return [[str(cell or "") for cell in row] for row in rows]


SYSTEMS: Final[Mapping[str, tuple[str, Callable[[Path], Pages]]]] = {
    "tenure": ("tenure", read_with_tenure),
    "pdfplumber": ("pdfplumber", read_with_pdfplumber),
    "camelot lattice": ("camelot", lambda path: read_with_camelot(path, "lattice")),
    "camelot stream": ("camelot", lambda path: read_with_camelot(path, "stream")),
    "camelot hybrid": ("camelot", lambda path: read_with_camelot(path, "hybrid")),
}
"""Systems by name, each with the module that it needs."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all systems and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--half", choices=("choose", "report"), default="report")
    parser.add_argument("--system", action="append", choices=SYSTEMS, help="default: all that are installed")
    parser.add_argument("--files", action="store_true", help="also print a line for each file")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    samples = [sample for folder in options.folders for sample in list_samples(folder)][options.half == "report" :: 2]
    results = []
    for name in options.system or [name for name, (module, _) in SYSTEMS.items() if find_spec(module)]:
        results.append(measure(name, SYSTEMS[name][1], samples, with_files=options.files))
        if not options.json:
            print_line(results[-1])
    if options.json:
        print(json.dumps([asdict(r) | {"precision": r.precision, "recall": r.recall} for r in results], indent=1))
    return 0


def list_samples(folder: Path) -> Iterator[Sample]:
    """Yield the PDF files below a folder that have a truth, by path."""
    for pdf in sorted(folder.rglob("*.pdf")):
        truth = pdf.with_name(f"{pdf.stem}-str.xml")
        if truth.exists():
            yield Sample(pdf, read_truth(truth))


def read_truth(path: Path) -> dict[int, list[TrueTable]]:
    """Return the true tables of a file by page."""
    pages: dict[int, list[TrueTable]] = {}
    for region in etree.parse(path).iter("region"):
        cells = [cell for cell in map(_read_cell, region.iter("cell")) if cell.text]
        if not cells:
            continue
        shape = max(cell.bottom for cell in cells) + 1, max(cell.right for cell in cells) + 1
        grid, numbers = np.full(shape, "", dtype=object), np.zeros(shape, dtype=np.intp)
        for number, cell in enumerate(cells, 1):
            area = np.s_[cell.top : cell.bottom + 1, cell.left : cell.right + 1]
            grid[area], numbers[area] = cell.text, number
        pages.setdefault(int(region.get("page")), []).append(TrueTable(grid.tolist(), numbers))
    return pages


class _TrueCell(NamedTuple):
    text: str
    top: int
    left: int
    bottom: int
    right: int


def _read_cell(cell: Any) -> _TrueCell:
    top, left = int(cell.get("start-row")), int(cell.get("start-col"))
    bottom, right = int(cell.get("end-row", top)), int(cell.get("end-col", left))
    text = normalize_cell(" ".join(cell.xpath("content/text()")))
    return _TrueCell(text, top, left, max(top, bottom), max(left, right))


def normalize_cell(text: str) -> str:
    """Return the text of a cell without white space, and without the forms of quotes and dashes."""
    return normalize(text).replace(" ", "")


def measure(name: str, read: Callable[[Path], Pages], samples: Sequence[Sample], *, with_files: bool) -> Figures:
    """Read all files with a system."""
    figures = Figures(name)
    for path, tables in samples:
        began = time.process_time()
        try:
            pages = read(path)
        except Exception as error:  # of a library: the file counts as read without a table, and is named
            figures.failed.append(f"{path.name}: {type(error).__name__}: {error}")
            pages = {}
        figures.seconds += time.process_time() - began
        figures.files += 1
        own = Figures(name)
        for page in {*tables, *pages}:
            count_cells(own, tables.get(page, ()), [clean_grid(grid) for grid in pages.get(page, ())])
        for count in ("tables", "found", "true_cells", "read_cells", "right_true", "right_read"):
            setattr(figures, count, getattr(figures, count) + getattr(own, count))
        if with_files:
            print(f"  {path.name}: precision {own.precision:.2f}, recall {own.recall:.2f} of {own.tables}", flush=True)
    return figures


def clean_grid(rows: Grid) -> Grid:
    """Return a grid with normalized texts and rows of one length."""
    width = max(map(len, rows), default=0)
    return [[*map(normalize_cell, row), *[""] * (width - len(row))] for row in rows]


def count_cells(figures: Figures, truth: Sequence[TrueTable], grids: Sequence[Grid]) -> None:
    """Add the counts of a page; each true table is compared with the table that agrees most."""
    pairs = [(match_cells(table, grid), t, g) for t, table in enumerate(truth) for g, grid in enumerate(grids)]
    figures.tables += len(truth)
    figures.true_cells += sum(int(table.cells.max()) for table in truth)
    figures.read_cells += sum(bool(cell) for grid in grids for row in grid for cell in row)
    used_truth: set[int] = set()
    used_grids: set[int] = set()
    for (right_true, right_read), t, g in sorted(pairs, reverse=True):
        if right_true and t not in used_truth and g not in used_grids:
            used_truth.add(t)
            used_grids.add(g)
            figures.right_true += right_true
            figures.right_read += right_read
            figures.found += right_true >= MIN_FOUND * int(truth[t].cells.max())


def match_cells(table: TrueTable, grid: Grid) -> tuple[int, int]:
    """Return the number of true cells that a grid has in their place, and of cells of the grid that are in place."""
    if not grid or not grid[0]:
        return 0, 0
    true, read = np.array(table.texts, dtype=object), np.array(grid, dtype=object)
    # Axes: true row, true column, row, column.
    equal = (true[:, :, None, None] == read[None, None]) & (true != "")[:, :, None, None]
    rows = align(_count_common(equal.transpose(0, 2, 1, 3)))
    columns = align(_count_common(equal.transpose(1, 3, 0, 2)))
    right = [(table.cells[i, k], (j, m)) for i, j in rows for k, m in columns if equal[i, k, j, m]]
    return len({cell for cell, _ in right}), len({place for _, place in right})


def _count_common(equal: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for each pair of lines the length of the longest common sequence of cells."""
    lines, others, length, width = equal.shape
    best = np.zeros((width + 1, lines, others), dtype=np.intp)
    for i in range(length):
        before = best.copy()
        for j in range(width):
            best[j + 1] = np.maximum(np.maximum(before[j + 1], best[j]), before[j] + equal[:, :, i, j])
    return best[width]


def align(weights: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Return the pairs of lines, in order, with the greatest sum of weights."""
    height, width = weights.shape
    best = np.zeros((height + 1, width + 1), dtype=np.intp)
    for i in range(height):
        for j in range(width):
            best[i + 1, j + 1] = max(best[i, j + 1], best[i + 1, j], best[i, j] + weights[i, j])
    pairs, i, j = [], height, width
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def print_line(figures: Figures) -> None:
    """Print the figures of a system on one line."""
    failed = f"; failed: {'; '.join(figures.failed)}" if figures.failed else ""
    print(
        f"{figures.system}: {figures.tables} tables in {figures.files} files, {figures.found} found; cells right: "
        f"precision {figures.precision:.3f}, recall {figures.recall:.3f} of {figures.true_cells}; "
        f"{figures.seconds:.1f} s{failed}",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
