"""Provide a small embedding model for tests: words hashed into a fixed number of dimensions.

Texts that share words are similar. The model is fast, deterministic, and implements the whole interface of an embedding
model, so that tests of the knowledge base need no weights.
"""

import os
import re
import signal
import zlib
from collections.abc import Sequence

import numpy as np

from tenure.algorithms.text.passage import Vectors


class WordVectors:
    """Hashed bags of words; models of different names give different vectors."""

    max_tokens = 254

    def __init__(self, name: str = "words", dimensions: int = 256) -> None:
        """Set name and dimensions."""
        self.name, self.dimensions = name, dimensions
        self.embedded = 0

    def count_tokens(self, text: str) -> int:
        """Count words."""
        return len(text.split())

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, shape (n, dimensions)."""
        self.embedded += len(texts)
        rows = np.full((len(texts), self.dimensions), 0.01, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[zlib.crc32(f"{self.name} {word}".encode()) % self.dimensions] += 1
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


class DyingVectors(WordVectors):
    """The same, in a process that is killed after some 700 texts."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return vectors, or kill the process."""
        if self.embedded > 700:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed(texts)
