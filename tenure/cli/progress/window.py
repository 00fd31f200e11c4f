"""Redraw a live view in a window whose width changes.

A line that becomes wider than the window is broken into rows by most terminals, while rich moves the cursor by the
lines that it has written, so that parts of a view would remain above the next one. Terminals announce a new width
after they have applied it. A view that is drawn for the former width in the meantime is cut at the edge: together with
what remains of the view before it, it has exactly the rows that the next one erases.
"""

import os
from collections.abc import Mapping
from math import ceil

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.control import Control
from rich.live import Live
from rich.live_render import LiveRender
from rich.segment import ControlType, Segment

_CLIPPING = ("linux", "rxvt", "screen", "st")
"""Beginnings of `TERM` of terminals that cut such lines instead, so that their number stays."""


_CUT = Segment("\x1b[?7l", control=[(ControlType.CURSOR_MOVE_TO_COLUMN, 0)])
_WRAP = Segment("\x1b[?7h", control=[(ControlType.CURSOR_MOVE_TO_COLUMN, 0)])
"""Cut and wrap what is written beyond the edge (DECAWM). Rich has no name for them and writes the text only."""


class WindowLive(Live):
    """Live view that leaves nothing behind in a window that has become narrower."""

    def __init__(self, view: RenderableType, console: Console) -> None:
        super().__init__(view, console=console, refresh_per_second=8, transient=True)
        self._live_render = _WindowRender(view, console)


class _WindowRender(LiveRender):
    """Last view with the widths of its lines."""

    def __init__(self, view: RenderableType, console: Console) -> None:
        super().__init__(view)
        self._console = console
        self._widths: list[int] = []
        self._breaks_lines = is_breaking_lines(os.environ)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the view."""
        segments = [part for part in super().__rich_console__(console, options) if isinstance(part, Segment)]
        self._widths = [Segment.get_line_length(line) for line in Segment.split_lines(segments)]
        yield _CUT
        yield from segments
        yield _WRAP

    def position_cursor(self) -> Control:
        """Return the movement to the beginning of the view, whose rows are erased."""
        above = max(self._count_rows() - 1, 0)
        erase = (ControlType.ERASE_IN_LINE, 2)
        up = ((ControlType.CURSOR_UP, 1), erase)
        return Control(ControlType.CARRIAGE_RETURN, erase, *up * above) if self._widths else Control()

    def restore_cursor(self) -> Control:
        """Return the movement from the row below the view to its beginning; its rows are erased."""
        up = ((ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2))
        return Control(ControlType.CARRIAGE_RETURN, *up * self._count_rows()) if self._widths else Control()

    def _count_rows(self) -> int:
        """Return the number of rows of the last view in the present window, beyond which the cursor cannot move."""
        size = self._console.size
        if not self._breaks_lines:
            return len(self._widths)
        return min(sum(max(ceil(width / size.width), 1) for width in self._widths), size.height)


def is_breaking_lines(environment: Mapping[str, str]) -> bool:
    """Return whether a terminal breaks lines that become wider than its window; most do."""
    if "TMUX" in environment:
        return True
    term = environment.get("TERM", "").partition("-")[0]
    return term not in _CLIPPING and "XTERM_VERSION" not in environment
