"""Passages: chunks with their text, as roles and algorithms receive them.

Passages are never sent through Temporal; activities load them by id, which keeps workflow histories small.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tenure.contracts.base import ChunkId, SourceId

Vectors = NDArray[np.float32]
"""Shape (n, d), rows of unit length."""

Encoder = Callable[[Sequence[str]], Vectors]
"""Encode n texts as n unit vectors; deterministic."""


COLUMNS_PREFIX = "columns: "
"""Beginning of the last entry of a heading path that names the columns of a table, of which a chunk has later rows."""


@dataclass(frozen=True)
class Passage:
    """Chunk of a stored source; `text` equals the text of the source between `start` and `end`."""

    chunk: ChunkId
    source: SourceId
    title: str
    uri: str
    heading_path: tuple[str, ...]
    """Headings above the chunk, outermost first, and the columns of a table that it continues."""
    text: str
    start: int
    """Offset of the first character in the source."""
    end: int
    """Offset after the last character."""
    kind: str = "prose"
    """`prose` or `code`, the kind of the source."""
    relevance: float = 0.0
    """Normalised relevance to the query."""
    published: str = ""
    """Date of the source as year, year-month or full date; empty if unknown."""
    is_retired: bool = False
    """Whether the source or the section calls itself deprecated or retired."""

    @property
    def headings(self) -> tuple[str, ...]:
        """Headings above the chunk, outermost first."""
        return tuple(entry for entry in self.heading_path if not entry.startswith(COLUMNS_PREFIX))

    @property
    def columns(self) -> str:
        """Names of the columns of the table that the chunk continues; empty for other chunks."""
        entries = (entry for entry in self.heading_path if entry.startswith(COLUMNS_PREFIX))
        return next((entry.removeprefix(COLUMNS_PREFIX) for entry in entries), "")
