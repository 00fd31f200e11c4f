"""Lay out a page from the places of words and ruled lines: lines in reading order, and tables.

A table with all of its lines is read from their grid. In another, rows are lines of text, and columns the gaps that
run through most of them; lines above and below, or a run of lines with several parts, show where it is.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import Final, NamedTuple

import numpy as np

from tenure.sources.parsers.page_layout import split_columns
from tenure.sources.parsers.page_lines import PageTable

_Cell = tuple[int, int]

_SNAP: Final = 3.0
"""Points between lines that are drawn as one."""
_WIDE_GAP: Final = 1.0
"""Gap between two parts of a line, in heights of its font; blanks have 0.25, and rarely 0.8 in justified prose."""
_COLUMN_GAP: Final = 0.7
"""Gap that may lie between two columns of prose: 12 points at 10 points of type in conference papers."""
_MIN_RIVER: Final = 0.45
"""Width of the gap between two columns, in heights of the font."""
_MAX_CROSSED: Final = 0.12
"""Share of the lines, such as headings over several columns, that may cross the gap between two columns."""
_MAX_CELL_CHARACTERS: Final = 45
"""Median characters of a cell above which columns are prose that is set in columns."""
_MIN_ROWS: Final = 3
_MAX_HEADER_DISTANCE: Final = 1.4
"""Distance of the lines of one heading of a column, in heights of the font."""
_MAX_LINE_DISTANCE: Final = 2.6
"""Distance of the middles of two lines of a table without ruled lines, in heights of the font."""
_MIN_CELLS: Final = 4
_MIN_FILLED: Final = 0.35
"""Share of filled cells; the numbers at the axes of a plot fill less."""
_MIN_TABLE_WIDTH: Final = 60.0
_LEADERS = re.compile(r"[.·…_=-]{3,}")  # "Total ........ 12", a line of hyphens.
# "12", "-1,234.5", "(3.4)", "12%", "$ 5", "1 234", "n/a", "–".
_NUMBER = re.compile(r"[^\w]*\d[\d.,\s'/:%–-]*\D{0,3}|[-–—.*]+|n/?a\.?", re.IGNORECASE)
_SYMBOLS = re.compile(r"[^\w\s]*[=+·×<>∑∫][^\w]*")  # "=", "+ ·": parts of a formula.
_MAX_SYMBOLS: Final = 0.1
# Parts of the tall brackets of a matrix, in Unicode and in the symbol fonts of TeX, whose characters are private.
_BRACKETS = re.compile(r"[\u239b-\u23ad\uf8e5-\uf8fe]")
_MAX_CUT: Final = 0.2
"""Share of the lines of a ruled region that may run through its sides: those of a drawing over prose do."""
_MAX_BLANK: Final = 0.5
"""Gap between words of one line, in heights of the font."""
_LIST_MARK = re.compile(r"[^\w\s]|\(?\w{1,3}[.)]|\[\d+\]|\d+(?:\.\d+)*\.?")  # "•", "(a)", "1.", "[12]", "2.1".
_MAX_TITLE_LINES: Final = 6
# "Table 3: Costs", "TABLE A-1.", "Exhibit 19".
_TITLE = re.compile(r"(?:table|tab\.|exhibit|figure|fig\.|appendix)\s+[\dA-Z][\w.-]*", re.IGNORECASE)
_MAX_SINGLES: Final = 3
"""Lines of one part, such as headings of groups, that may follow each other in a table."""


class PlacedWord(NamedTuple):
    """PlacedWord with its box, which has the height of the font."""

    left: float
    top: float
    right: float
    bottom: float
    text: str
    offset: int = 0
    """Index of its first character, for `PdfPage.is_bold`."""
    is_turned: bool = False
    """Whether it lies on its side, such as the name of an axis."""

    @property
    def middle(self) -> float:
        """Vertical middle."""
        return (self.top + self.bottom) / 2


class Rule(NamedTuple):
    """Horizontal or vertical line."""

    position: float
    start: float
    end: float


class Rules(NamedTuple):
    """Ruled lines of a page."""

    horizontal: list[Rule]
    vertical: list[Rule]


@dataclass(frozen=True)
class PlacedLine:
    """Words of one line, from the left."""

    words: tuple[PlacedWord, ...]

    @cached_property
    def left(self) -> float:
        """Left side."""
        return self.words[0].left

    @cached_property
    def right(self) -> float:
        """Right side."""
        return max(word.right for word in self.words)

    @cached_property
    def top(self) -> float:
        """Upper side."""
        return min(word.top for word in self.words)

    @cached_property
    def bottom(self) -> float:
        """Lower side."""
        return max(word.bottom for word in self.words)

    @cached_property
    def middle(self) -> float:
        """Vertical middle."""
        return (self.top + self.bottom) / 2

    @cached_property
    def height(self) -> float:
        """Usual height of a word, which is that of its font."""
        return median(word.bottom - word.top for word in self.words)

    @cached_property
    def text(self) -> str:
        """Words with blanks between them."""
        return " ".join(word.text for word in self.words)

    @cached_property
    def parts(self) -> list["PlacedLine"]:
        """Parts between wide gaps."""
        return self.split(_WIDE_GAP * self.height)

    def split(self, gap: float, borders: Sequence[float] = ()) -> list["PlacedLine"]:
        """Return the parts between gaps of this width, and between numbers on both sides of a border."""
        parts = [[self.words[0]]]
        right = self.words[0].right
        for word in self.words[1:]:
            if word.left - right > gap or _divides(parts[-1][-1], word, borders):
                parts.append([])
                right = word.right
            parts[-1].append(word)
            right = max(right, word.right)
        return [PlacedLine(tuple(part)) for part in parts]


def _divides(word: PlacedWord, after: PlacedWord, borders: Sequence[float]) -> bool:
    return bisect_right(borders, word.right - 1) < bisect_right(borders, after.left + 1) and bool(
        _NUMBER.fullmatch(word.text) and _NUMBER.fullmatch(after.text)
    )


def group_lines(words: Iterable[PlacedWord]) -> list[PlacedLine]:
    """Return the lines of text from the top; raised and lowered marks belong to the line that they overlap."""
    lines: list[list[PlacedWord]] = []
    for word in sorted(words, key=lambda word: word.middle):
        for line in lines[-2:]:
            first = line[0]
            overlap = min(word.bottom, first.bottom) - max(word.top, first.top)
            if overlap > 0.5 * min(word.bottom - word.top, first.bottom - first.top):
                line.append(word)
                break
        else:
            lines.append([word])
    return sorted((PlacedLine(tuple(sorted(line))) for line in lines), key=lambda line: line.middle)


class _Region(NamedTuple):
    """Part of a page that may be a table; a grid has the positions of its lines."""

    left: float
    top: float
    right: float
    bottom: float
    columns: tuple[float, ...] = ()
    rows: tuple[float, ...] = ()

    def holds(self, word: PlacedWord) -> bool:
        middle = (word.left + word.right) / 2
        return self.left - _SNAP < middle < self.right + _SNAP and self.top - _SNAP < word.middle < self.bottom + _SNAP


def parse_layout(words: Iterable[PlacedWord], rules: Rules) -> list[PlacedLine | PageTable]:
    """Return the lines and tables of a page in reading order."""
    drawn = Rules(_join_rules(rules.horizontal), _join_rules(rules.vertical))
    tables: list[PageTable] = []
    rest = list(words)
    for region in (*_find_grids(drawn), *_find_ruled_regions(drawn.horizontal)):
        inside = [word for word in rest if region.holds(word)]
        if _cuts_lines(region, rest):
            continue
        table = _read_grid(region, inside, drawn) if region.columns else None
        table = table or _read_lines(group_lines(w for w in inside if not w.is_turned), drawn, is_ruled=True)
        if table is not None:
            tables.append(table)
            taken = _Region(*table[:4])
            rest = [word for word in rest if not taken.holds(word)]
    turned = [PlacedLine((word,)) for word in rest if word.is_turned]
    parts = [
        part
        for line in group_lines(w for w in rest if not w.is_turned)
        for part in line.split(_COLUMN_GAP * line.height)
    ]
    items: list[PlacedLine | PageTable] = []
    boxes: list[PlacedLine | PageTable] = [*parts, *tables]
    for block in split_columns(boxes):
        lines = group_lines(word for part in block if isinstance(part, PlacedLine) for word in part.words)
        items += sorted(
            (*_read_runs(lines, drawn), *(item for item in block if isinstance(item, PageTable))),
            key=lambda item: item.top,
        )
    return [*items, *turned]


def _cuts_lines(region: _Region, words: Sequence[PlacedWord]) -> bool:
    """Return whether lines of text run through the sides of a region."""
    lines = group_lines(w for w in words if region.top < w.middle < region.bottom and not w.is_turned)
    held = [line for line in lines if any(map(region.holds, line.words))]
    cut = sum(
        any(
            region.holds(before) != region.holds(word) and word.left - before.right < _MAX_BLANK * line.height
            for before, word in pairwise(line.words)
        )
        for line in held
    )
    return cut > _MAX_CUT * len(held)


def _read_runs(lines: Sequence[PlacedLine], drawn: Rules) -> Iterator[PlacedLine | PageTable]:
    """Yield the lines of a column, with a table in place of its lines."""
    rest = list(lines)
    for run in _find_runs(lines):
        table = _read_lines(run, drawn, is_ruled=False)
        if table is not None:
            rest = [line for line in rest if not table.top <= line.middle <= table.bottom]
            yield table
    yield from rest


def _join_rules(rules: Sequence[Rule]) -> list[Rule]:
    """Return the lines without breaks and without copies."""
    joined: list[Rule] = []
    for rule in sorted(rules):
        for n in range(len(joined) - 1, -1, -1):
            known = joined[n]
            if known.position < rule.position - _SNAP / 2:
                n = -1
                break
            if rule.start <= known.end + _SNAP and known.start <= rule.end + _SNAP:
                joined[n] = Rule(known.position, min(known.start, rule.start), max(known.end, rule.end))
                break
        else:
            n = -1
        if n < 0:
            joined.append(rule)
    return joined


def _find_grids(drawn: Rules) -> Iterator[_Region]:
    """Yield the regions in which horizontal and vertical lines cross or meet."""
    groups: list[tuple[set[int], set[int]]] = []
    for v, vertical in enumerate(drawn.vertical):
        crossed = {
            h
            for h, rule in enumerate(drawn.horizontal)
            if rule.start - _SNAP <= vertical.position <= rule.end + _SNAP
            and vertical.start - _SNAP <= rule.position <= vertical.end + _SNAP
        }
        touching = [group for group in groups if group[0] & crossed]
        groups = [group for group in groups if not group[0] & crossed]
        if crossed:
            groups.append((crossed.union(*(g[0] for g in touching)), {v}.union(*(g[1] for g in touching))))
    for row_numbers, column_numbers in groups:
        rows, columns = [drawn.horizontal[n] for n in row_numbers], [drawn.vertical[n] for n in column_numbers]
        # Borders that are not drawn: the ends of the lines that would meet them.
        xs = _merge_positions([*(r.position for r in columns), min(r.start for r in rows), max(r.end for r in rows)])
        ys = _merge_positions([*(r.position for r in rows), min(r.start for r in columns), max(r.end for r in columns)])
        if len(xs) > 2 and len(ys) > 2:
            yield _Region(xs[0], ys[0], xs[-1], ys[-1], tuple(xs), tuple(ys))


def _merge_positions(positions: Iterable[float]) -> list[float]:
    merged: list[float] = []
    for position in sorted(positions):
        if not merged or position > merged[-1] + _SNAP:
            merged.append(position)
    return merged


def _read_grid(region: _Region, words: Sequence[PlacedWord], drawn: Rules) -> PageTable | None:
    """Return the table of a grid, or None if its cells hold several rows or columns."""
    xs, ys = region.columns, region.rows
    width, height = len(xs) - 1, len(ys) - 1
    owner = _merge_cells(region, drawn)
    cells: dict[_Cell, list[PlacedWord]] = {}
    for word in words:
        row = min(max(bisect_right(ys, word.middle) - 1, 0), height - 1)
        column = min(max(bisect_right(xs, (word.left + word.right) / 2) - 1, 0), width - 1)
        cells.setdefault(owner[row, column], []).append(word)
    lines = {cell: group_lines(held) for cell, held in cells.items()}
    if len(cells) < _MIN_CELLS or _has_inner_cells(lines):
        return None
    texts = [["" for _ in range(width)] for _ in range(height)]
    for (row, column), held in lines.items():
        texts[row][column] = " ".join(line.text for line in held)
    # Titles and notes in a frame around the table.
    is_table = [
        any(texts[row]) and not (owner[row, 0] == owner[row, width - 1] and _is_note(texts[row][0]))
        for row in range(height)
    ]
    if not any(is_table):
        return None
    start, end = is_table.index(True), height - is_table[::-1].index(True)
    return _build_table(region._replace(top=ys[start], bottom=ys[end]), texts[start:end])


def _merge_cells(region: _Region, drawn: Rules) -> dict[_Cell, _Cell]:
    """Return for each place of a grid the first one of its cell: between places of a cell no line is drawn."""
    xs, ys = region.columns, region.rows
    owner = {(row, column): (row, column) for row in range(len(ys) - 1) for column in range(len(xs) - 1)}

    def find(cell: _Cell) -> _Cell:
        while owner[cell] != cell:
            cell = owner[cell]
        return cell

    for row, column in list(owner):
        before = []
        if column and not _is_drawn(drawn.vertical, xs[column], (ys[row] + ys[row + 1]) / 2):
            before.append((row, column - 1))
        if row and not _is_drawn(drawn.horizontal, ys[row], (xs[column] + xs[column + 1]) / 2):
            before.append((row - 1, column))
        for neighbour in before:
            first, second = sorted((find((row, column)), find(neighbour)))
            owner[second] = first
    return {cell: find(cell) for cell in owner}


def _is_note(text: str) -> bool:
    return len(text) > _MAX_CELL_CHARACTERS or bool(_TITLE.match(text))


def _is_drawn(rules: Sequence[Rule], position: float, across: float) -> bool:
    return any(abs(r.position - position) <= _SNAP and r.start - 1 <= across <= r.end + 1 for r in rules)


def _has_inner_cells(cells: Mapping[tuple[int, int], Sequence[PlacedLine]]) -> bool:
    """Return whether cells of a grid hold columns, or rows of short texts side by side."""
    parts = [max(len(line.parts) for line in lines) for lines in cells.values()]
    stacked = Counter(row for (row, _), lines in cells.items() if len(lines) > 1 and _is_stack(lines))
    split = sum(count > 1 for count in parts)
    return max(parts) > 2 or split > 0.2 * len(cells) or any(count > 1 for count in stacked.values())


def _is_stack(lines: Sequence[PlacedLine]) -> bool:
    """Return whether the lines of a cell are values of several rows."""
    return all(_NUMBER.fullmatch(line.text) for line in lines) or (
        len(lines) > 2 and median(len(line.text) for line in lines) < 12
    )


def _find_ruled_regions(rules: Sequence[Rule]) -> Iterator[_Region]:
    """Yield the regions between horizontal lines of the same ends."""
    groups: list[list[Rule]] = []
    for rule in sorted(rules):
        if rule.end - rule.start < _MIN_TABLE_WIDTH:
            continue
        for group in groups:
            if abs(group[0].start - rule.start) < 2 * _SNAP and abs(group[0].end - rule.end) < 2 * _SNAP:
                group.append(rule)
                break
        else:
            groups.append([rule])
    for group in groups:
        if len(group) > 1:
            yield _Region(group[0].start, group[0].position, group[0].end, group[-1].position)


def _find_runs(lines: Sequence[PlacedLine]) -> Iterator[list[PlacedLine]]:
    """Yield runs of lines that may be a table: most have several parts, and none is far from the one before."""
    run: list[PlacedLine] = []
    singles = 0
    for line in lines:
        is_single = len(line.parts) == 1
        far = run and line.middle - run[-1].middle > _MAX_LINE_DISTANCE * max(line.height, run[-1].height)
        if run and (far or (is_single and singles == _MAX_SINGLES)):
            yield run
            run, singles = [], 0
        if not is_single or run:
            run.append(line)
            singles = singles + 1 if is_single else 0
    if run:
        yield run


def _trim(lines: Sequence[PlacedLine], borders: Sequence[float]) -> Sequence[PlacedLine]:
    """Return the lines of a table without the title before it, what precedes the title, and notes after it."""
    titles = [n for n, line in enumerate(lines[:_MAX_TITLE_LINES]) if _TITLE.match(line.text)]
    start = titles[-1] if titles else 0
    crosses = [sum(line.left < border < line.right for border in borders) for line in lines]
    singles = [len(line.parts) == 1 for line in lines]
    end = len(lines)
    while start < end - 1 and (start in titles or (singles[start] and crosses[start])):
        start += 1
    while end > start + 1 and singles[end - 1] and (crosses[end - 1] or lines[end - 1].left > borders[0]):
        end -= 1
    return lines[start:end]


class _TextRow(NamedTuple):
    cells: list[str]
    top: float
    bottom: float
    height: float
    spans: bool
    """Whether a part covers several columns."""

    @property
    def filled(self) -> set[int]:
        return {n for n, cell in enumerate(self.cells) if cell}


def _read_lines(lines: Sequence[PlacedLine], drawn: Rules, *, is_ruled: bool) -> PageTable | None:
    """Return the table whose rows are lines of text, or None if they are no table."""
    several = [line for line in lines if len(line.parts) > 1]
    if not lines or len(several) < (2 if is_ruled else _MIN_ROWS) or len(several) < 0.5 * len(lines):
        return None
    region = _Region(
        min(line.left for line in lines), lines[0].top, max(line.right for line in lines), lines[-1].bottom
    )
    borders = _find_borders(several, region, drawn.vertical)
    if not borders:
        return None
    lines = _trim(lines, borders)
    region = region._replace(top=lines[0].top, bottom=lines[-1].bottom)
    rows = [_split_cells(line, borders) for line in lines]
    if not _is_table(rows, is_ruled=is_ruled):
        return None
    return _build_table(region, [row.cells for row in _join_rows(rows, region, drawn.horizontal)])


def _find_borders(lines: Sequence[PlacedLine], region: _Region, vertical: Sequence[Rule]) -> list[float]:
    """Return the positions of the gaps between columns."""
    height = median(line.height for line in lines)
    covered = np.zeros(int(region.right - region.left) + 2, dtype=np.intp)
    for line in lines:
        for part in line.split(_MIN_RIVER * height):
            covered[int(part.left - region.left) : int(part.right - region.left) + 1] += 1
    is_free = covered <= _MAX_CROSSED * len(lines)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], is_free.view(np.int8), [0]))))
    borders = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if start == 0 or end >= len(covered) - 1 or end - start < _MIN_RIVER * height:
            continue
        lowest = start + np.flatnonzero(covered[start:end] == covered[start:end].min())
        border = region.left + float(lowest[len(lowest) // 2])
        if sum(line.left < border < line.right for line in lines) > 1:
            borders.append(border)
    return borders


def _split_cells(line: PlacedLine, borders: Sequence[float]) -> _TextRow:
    cells = [""] * (len(borders) + 1)
    spans = False
    for part in line.split(_MIN_RIVER * line.height, borders):
        first, last = (bisect_right(borders, x) for x in (part.left + 1, part.right - 1))
        spans |= last > first
        cells[first] = f"{cells[first]} {part.text}".strip()
    return _TextRow(cells, line.top, line.bottom, line.height, spans)


def _is_table(rows: Sequence[_TextRow], *, is_ruled: bool) -> bool:
    """Return whether rows are a table, and not prose in columns, a list or a table of contents."""
    filled = [row for row in rows if len(row.filled) > 1]
    cells = [cell for row in filled for cell in row.cells if cell]
    if len(filled) < (2 if is_ruled else _MIN_ROWS) or median(map(len, cells)) > _MAX_CELL_CHARACTERS:
        return False
    if sum(len(row.filled) for row in rows) < _MIN_FILLED * len(rows) * len(rows[0].cells):
        return False
    others = [cell for row in filled for cell in row.cells[1:] if cell]
    numbers = sum(bool(_NUMBER.fullmatch(cell)) for cell in others)
    if sum(bool(_SYMBOLS.fullmatch(cell)) for cell in cells) > _MAX_SYMBOLS * len(cells):
        return False
    if any(map(_BRACKETS.search, cells)):
        return False
    if is_ruled and (len(filled) >= _MIN_ROWS or numbers):
        return True
    first = [row.cells[0] for row in filled if row.cells[0]]
    marked = sum(bool(_LIST_MARK.fullmatch(cell) or "=" in cell) for cell in first)
    if len(rows[0].cells) == 2 and marked > 0.5 * len(first):
        return False
    return numbers >= 0.3 * len(others) or (len(rows[0].cells) > 2 and median(map(len, cells)) < 20)


def _join_rows(rows: Sequence[_TextRow], region: _Region, horizontal: Sequence[Rule]) -> list[_TextRow]:
    """Return the rows with the lines of their cells joined."""
    rules = [
        rule.position
        for rule in horizontal
        if region.top < rule.position < region.bottom
        and min(rule.end, region.right) - max(rule.start, region.left) > 0.6 * (region.right - region.left)
    ]
    bands = [bisect_right(rules, (row.top + row.bottom) / 2) for row in rows]
    stacked = {
        band
        for (above, row), (band, band_below) in zip(pairwise(rows), pairwise(bands), strict=True)
        if band == band_below and _is_next_row(above, row)
    }
    by_rules = len(set(bands)) >= max(_MIN_ROWS, len(rows) / 4) and len(stacked) < 0.25 * len(set(bands))
    distances = [below.bottom - above.bottom for above, below in pairwise(rows)]
    tight = 1.15 * min(distances, default=0)
    is_spaced = sum(d > 1.3 * tight / 1.15 for d in distances) > 0.3 * len(distances)
    joined: list[_TextRow] = [rows[0]]
    header = next((n for n, row in enumerate(rows) if _has_numbers(row)), 0)
    for n in range(1, len(rows)):
        row, before = rows[n], joined[-1]
        if by_rules:
            joins = bands[n] == bands[n - 1]
        elif n < header:
            is_near = row.bottom - rows[n - 1].bottom < _MAX_HEADER_DISTANCE * row.height
            joins = bands[n] == bands[n - 1] and is_near and not (before.spans or row.spans)
        else:
            joins = bands[n] == bands[n - 1] and _continues(
                before, row, is_tight=is_spaced and distances[n - 1] <= tight
            )
        if joins:
            cells = [" ".join(filter(None, pair)) for pair in zip(before.cells, row.cells, strict=True)]
            joined[-1] = before._replace(cells=cells, bottom=row.bottom)
        else:
            joined.append(row)
    return joined


def _has_numbers(row: _TextRow) -> bool:
    cells = [cell for cell in row.cells[1:] if cell]
    return sum(bool(_NUMBER.fullmatch(cell)) for cell in cells) > 0.5 * len(cells)


def _is_next_row(above: _TextRow, row: _TextRow) -> bool:
    """Return whether a line is surely another row than the line above it."""
    if any(_NUMBER.fullmatch(above.cells[n]) and _NUMBER.fullmatch(row.cells[n]) for n in above.filled):
        return True
    return len(row.filled) > 1 and row.cells[0][:1].isupper()


def _continues(before: _TextRow, row: _TextRow, *, is_tight: bool) -> bool:
    """Return whether a line continues the cells of the row before it."""
    if row.top - before.bottom > 0.8 * row.height or before.spans or row.spans:
        return False
    if any(_NUMBER.fullmatch(before.cells[n]) and row.cells[n] for n in before.filled):
        return row.filled == {0} and row.cells[0][:1].islower()
    if is_tight:
        return True
    if row.filled == {0}:
        return row.cells[0][:1].islower() and len(before.filled) > 1
    return 0 not in row.filled and row.filled <= before.filled and not any(map(_NUMBER.fullmatch, row.cells))


def _build_table(region: _Region, rows: Sequence[Sequence[str]]) -> PageTable | None:
    """Return a table without empty rows and columns, or None if less than two of each are left."""
    columns: list[tuple[str, ...]] = []
    for column in zip(*(row for row in rows if any(row)), strict=True):
        if not any(column):
            continue
        # A heading above its numbers may start in another column of the grid than they.
        if columns and not any(a and b for a, b in zip(columns[-1], column, strict=True)):
            columns[-1] = tuple(a or b for a, b in zip(columns[-1], column, strict=True))
        else:
            columns.append(column)
    joined: list[tuple[str, ...]] = []
    for row in zip(*columns, strict=True):
        # "syndrome" below "Chronic fatigue | 19 | 4" continues the label.
        if joined and row[0][:1].islower() and not any(row[1:]) and any(joined[-1][1:]):
            joined[-1] = (f"{joined[-1][0]} {row[0]}".lstrip(), *joined[-1][1:])
        else:
            joined.append(row)
    return PageTable(*region[:4], tuple(joined)) if len(columns) > 1 and len(joined) > 1 else None
