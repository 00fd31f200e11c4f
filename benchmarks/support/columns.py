"""Print figures as a table with a line for each figure and a column for each system or configuration."""

from collections.abc import Mapping
from typing import Any, Final

_WIDTH: Final = 10
_GAP: Final = 2


def format_columns(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the table; all columns have the figures of the first one."""
    names = list(figures)
    labels = [figure.replace("_", " ") for figure in figures[names[0]]]
    widths = [max(_WIDTH, len(name)) + _GAP for name in names]
    margin = max(map(len, labels))
    lines = [" " * margin + "".join(name.rjust(width) for name, width in zip(names, widths, strict=True))]
    for figure, label in zip(figures[names[0]], labels, strict=True):
        values = (str(figures[name][figure]).rjust(width) for name, width in zip(names, widths, strict=True))
        lines.append(label.ljust(margin) + "".join(values))
    return "\n".join(lines)
