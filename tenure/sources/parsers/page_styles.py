"""Distinguish headings and footnotes from text by the size and weight of their type."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tenure.algorithms.chunking.prose import CAPTION
from tenure.sources.parsers.page_lines import NOTE_MARK, PageItem, PageLine

_MIN_HEADING_SIZE: Final = 1.12
"""Size of a heading that is not bold, in sizes of the text: 12 points above 10."""
_MAX_NOTE_SIZE: Final = 0.92
"""Size of a footnote, in sizes of the text: 9 points below 10."""
_MAX_CHARACTERS: Final = 120
_MAX_LINES: Final = 3
"""Lines of one heading."""
_MAX_SHARE: Final = 0.2
"""Share of lines from which large or bold lines are no headings: slides, forms and posters have more of them."""
_MAX_LEVELS: Final = 4
_CAPTION_DISTANCE: Final = 1.5
"""Distance of the lines of a caption, in heights of their font."""
_CONTINUES = re.compile(r".*[,;:.]$|[^\w\"'“‘(]")  # "where:", "• an item".

_Style = tuple[float, bool]


def mark_styles(pages: Sequence[Sequence[PageItem]], *, with_headings: bool) -> list[list[PageItem]]:
    """Return pages with the levels of headings, if asked for, and with footnotes marked."""
    lines = [item for page in pages for item in page if isinstance(item, PageLine) and item.size]
    if not lines:
        return [list(page) for page in pages]
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[_round(line.size)] += len(line.text)
    body = sizes.most_common(1)[0][0]
    styles = Counter(style for line in lines if (style := _find_style(line, body)))
    if not with_headings or styles.total() > _MAX_SHARE * len(lines):
        styles.clear()
    levels = {style: min(n, _MAX_LEVELS) for n, style in enumerate(sorted(styles, reverse=True), 1)}
    return [_mark_page(page, body, levels) for page in pages]


def _round(size: float) -> float:
    return round(size * 2) / 2


def _find_style(line: PageLine, body: float) -> _Style | None:
    """Return the style of a line that may be a heading, or None."""
    size = _round(line.size)
    is_large = size >= _MIN_HEADING_SIZE * body
    if not (is_large or (line.is_bold and size >= body)) or len(line.text) > _MAX_CHARACTERS:
        return None
    if sum(map(str.isalpha, line.text)) < 3 or (not is_large and _CONTINUES.match(line.text)):
        return None
    return size, line.is_bold


def _mark_page(page: Sequence[PageItem], body: float, levels: dict[_Style, int]) -> list[PageItem]:
    marked: list[PageItem] = []
    run = 0  # lines of the heading so far
    in_caption = False  # a caption is bold in many documents
    for item in page:
        style = _find_style(item, body) if isinstance(item, PageLine) else None
        in_caption = bool(CAPTION.match(item.text)) or (in_caption and _continues_caption(marked[-1], item))
        level = levels.get(style, 0) if style and not in_caption else 0
        above = marked[-1] if marked else None
        if isinstance(item, PageLine) and level:
            item = replace(item, level=level)
            if isinstance(above, PageLine) and above.level == level and 0 < item.top - above.top < 2 * run * item.size:
                marked[-1] = replace(above, text=f"{above.text} {item.text}")
                run += 1
                continue
            run = 1
        marked.append(item)
    return _mark_notes(marked, body)


def _continues_caption(above: PageItem, item: PageItem) -> bool:
    if not isinstance(above, PageLine) or not isinstance(item, PageLine) or above.text.endswith("."):
        return False
    return 0 < item.top - above.top < _CAPTION_DISTANCE * item.size


def _mark_notes(page: list[PageItem], body: float) -> list[PageItem]:
    """Mark lines of small type below all text of a column, from the first that starts with a mark."""
    for n, item in enumerate(page):
        if not isinstance(item, PageLine) or not _is_small(item, body) or not NOTE_MARK.match(item.text):
            continue
        column = page[n:]
        end = next((k for k, other in enumerate(column) if not _is_below(item, other)), len(column))
        if all(isinstance(other, PageLine) and _is_small(other, body) for other in column[:end]):
            page[n : n + end] = [
                replace(other, is_note=True) if isinstance(other, PageLine) else other for other in column[:end]
            ]
    return page


def _is_small(line: PageLine, body: float) -> bool:
    return 0 < line.size <= _MAX_NOTE_SIZE * body


def _is_below(line: PageLine, other: PageItem) -> bool:
    return other.top >= line.top
