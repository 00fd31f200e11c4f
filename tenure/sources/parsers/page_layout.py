"""Put the parts of a page in reading order: columns of prose one after the other, forms and tables by row."""

import math
from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

_MIN_COLUMN_LINES: Final = 4
_MIN_COLUMN_CHARACTERS: Final = 20
"""Median length of the lines of a column of prose; the cells of a form or a receipt are shorter, and read by row."""
_MAX_SPANNING: Final = 0.15
"""Share of lines, such as titles, that may cross the gap between two columns."""


class Box(Protocol):
    """Part of a line, or a table."""

    @property
    def left(self) -> float:
        """Left side."""

    @property
    def right(self) -> float:
        """Right side."""

    @property
    def middle(self) -> float:
        """Vertical middle, from the top."""

    @property
    def text(self) -> str:
        """Its words."""


BoxT = TypeVar("BoxT", bound=Box)


def split_columns(boxes: Sequence[BoxT], depth: int = 3) -> list[list[BoxT]]:
    """Return the columns of text in reading order; lines across a gap, such as titles, separate what is around them."""
    cut = _find_gap(boxes) if depth else None
    if cut is None:
        return [list(boxes)]
    spanning = sorted((box for box in boxes if box.left < cut < box.right), key=lambda box: box.middle)
    blocks: list[list[BoxT]] = []
    top = -math.inf
    for crossing in (*spanning, None):
        bottom = crossing.middle if crossing else math.inf
        band = [box for box in boxes if top <= box.middle < bottom and not box.left < cut < box.right]
        for side in ([b for b in band if b.right <= cut], [b for b in band if b.left >= cut]):
            blocks += split_columns(side, depth - 1) if side else []
        blocks += [[crossing]] if crossing else []
        top = bottom
    return blocks


def _find_gap(boxes: Sequence[Box]) -> float | None:
    """Return the position of the gap between two columns of prose, or None."""
    if len(boxes) < 2 * _MIN_COLUMN_LINES:
        return None
    lefts, rights = np.array([box.left for box in boxes]), np.array([box.right for box in boxes])
    positions = np.linspace(lefts.min(), rights.max(), 201)[30:-30]
    crossed = ((lefts[:, None] < positions) & (positions < rights[:, None])).sum(0)
    gaps = [_find_emptiest(run, crossed) for run in _split_runs(np.flatnonzero(crossed <= _MAX_SPANNING * len(boxes)))]
    # Nothing crosses the gap between a stamp in the margin, as on papers of arXiv, and the columns.
    for gap in sorted(gaps, key=lambda gap: (crossed[gap[0]], -len(gap))):
        cut = float(positions[gap[len(gap) // 2]])
        sides = [[box for box in boxes if box.right <= cut], [box for box in boxes if box.left >= cut]]
        if all(
            len(side) >= _MIN_COLUMN_LINES and np.median([len(box.text) for box in side]) >= _MIN_COLUMN_CHARACTERS
            for side in sides
        ):
            return cut
    return None


def _find_emptiest(run: NDArray[np.intp], crossed: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the longest part of a run at which the fewest lines cross."""
    return max(_split_runs(run[crossed[run] == crossed[run].min()]), key=len)


def _split_runs(indices: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Return runs of consecutive numbers."""
    return np.split(indices, np.flatnonzero(np.diff(indices) > 1) + 1) if len(indices) else []
