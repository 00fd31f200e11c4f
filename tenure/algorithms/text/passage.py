"""The passage: a chunk with its text, as roles and algorithms see it.

Passages never travel through Temporal; activities load them by id (DESIGN §2, "references travel").
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenure.contracts.base import ChunkId, SourceId

Vectors = NDArray[np.float32]
"""Shape (n, d), rows of unit length."""

Encoder = Callable[[Sequence[str]], Vectors]
"""Turns n texts into n unit vectors; deterministic."""


class Tokens(NamedTuple):
    """A text as its tokens, each read in its context."""

    vectors: Vectors
    """Unit rows, one for each token that stands for something."""
    spans: tuple[tuple[int, int], ...]
    """Where each of them begins and ends in the text."""


TokenEncoder = Callable[[Sequence[str]], list[Tokens]]
"""Turns n texts into the tokens of n texts; deterministic."""


@dataclass(frozen=True)
class Passage:
    """A chunk of a stored source; `text` is the source's text between `start` and `end`, to the letter."""

    chunk: ChunkId
    """The chunk's id."""
    source: SourceId
    """The source's id."""
    title: str
    """The source's title."""
    uri: str
    """Where the source is."""
    heading_path: tuple[str, ...]
    """Headings above the chunk, outermost first."""
    text: str
    """The words."""
    start: int
    """First character in the source's text."""
    end: int
    """One past the last character."""
    kind: str = "prose"
    """`prose` or `code`: what the source is."""
    relevance: float = 0.0
    """Normalised relevance to what was searched for."""
