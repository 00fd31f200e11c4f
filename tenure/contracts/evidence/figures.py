"""Define the pictures in documents: figures of papers, diagrams in manuals, screenshots on slides."""

from typing import Final, NamedTuple

WHOLE: Final = (0.0, 0.0, 1.0, 1.0)
"""Box of a whole page or picture."""


class Figure(NamedTuple):
    """Picture in a document; coordinates are shares of the width and height of its page."""

    start: int
    """Offset of its caption, or of the text before it."""
    end: int
    """Offset after its caption and its recognized text."""
    label: str
    """Label in the document, as `Figure 3`; empty without one."""
    caption: str
    """Caption or alternative text; may be empty."""
    part: str
    """Name of the picture in the file: a member of a package, a path from the folder of a web page, the number of a
    data address; empty for a part of a page of a PDF."""
    page: int = 0
    """Page, from 1; 0 in a document without pages."""
    left: float = 0.0
    top: float = 0.0
    right: float = 1.0
    bottom: float = 1.0

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, upper, right and lower edge on its page."""
        return self[6:10]
