"""Render text on a terminal without the characters that act on it."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from tenure.algorithms.text.printable import escape_control_characters


class SafeConsole(Console):
    """Console that escapes control characters of all text, and interprets no markup in it."""

    def __init__(self, *, stderr: bool = False, width: int | None = None) -> None:
        super().__init__(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render text without control characters; control codes of the console itself stay."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(escape_control_characters(segment.text), segment.style)
