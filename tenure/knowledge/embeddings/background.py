"""Embed at low CPU priority, so that background work does not slow down interactive work.

Only the threads of the model get a low priority: a low-priority thread that held the interpreter lock would delay all
other threads.
"""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial

from tenure.algorithms.text.passage import Vectors
from tenure.models.embedding import EmbeddingModel, embed_passages

NICENESS = 5
"""Nice value of background threads: a third of the CPU time of a normal thread, or all of it if the CPU is idle."""


class BackgroundModel:
    """Embedding model whose threads have a low priority."""

    def __init__(self, model: EmbeddingModel) -> None:
        """Copy `model` so that it starts threads of its own; the threads of a loaded model keep their priority."""
        self._model = copy(model)
        self.name, self.dimensions, self.max_tokens = model.name, model.dimensions, model.max_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts, shape (n, dimensions), computed in a thread of low priority.

        Threads that it starts inherit the priority. Threads have priorities of their own only on Linux; elsewhere they
        run at normal priority.
        """
        return self._run(self._model.embed, texts)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of passages in the same way."""
        return self._run(partial(embed_passages, self._model), texts)

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return self._model.count_tokens(text)

    @staticmethod
    def _run(embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str]) -> Vectors:
        with ThreadPoolExecutor(1, thread_name_prefix="background", initializer=_lower_priority) as thread:
            return thread.submit(embed, texts).result()


def _lower_priority() -> None:
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
