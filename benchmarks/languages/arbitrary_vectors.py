"""Embedding model without meaning, for measurements of the search by words alone; it costs no time."""

import re
import zlib
from collections.abc import Sequence
from typing import Final

import numpy as np

from tenure.algorithms.text.passage import Vectors

DENSE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Character of Chinese, Japanese or Korean, which says about as much as three Latin letters."""


class ArbitraryVectors:
    """Embedding model whose vectors say nothing."""

    name, dimensions, max_tokens = "arbitrary", 16, 256

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens, about four characters each, and one of dense scripts."""
        return len(text) // 4 + len(DENSE.findall(text))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a unit vector for each text."""
        rows = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.dimensions) for text in texts]
        vectors = np.asarray(rows, dtype=np.float32).reshape(-1, self.dimensions)
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit
