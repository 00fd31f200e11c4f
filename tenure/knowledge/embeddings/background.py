"""Embed at low CPU priority, so that background work does not slow down interactive work.

Only the threads of the model get a low priority: a low-priority thread that held the interpreter lock would delay all
other threads.
"""

import os
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy

from tenure.algorithms.text.passage import Vectors
from tenure.models.embedding import EmbeddingModel

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
        with ThreadPoolExecutor(1, thread_name_prefix="background", initializer=_lower_priority) as thread:
            return thread.submit(self._model.embed, texts).result()

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return self._model.count_tokens(text)


def _lower_priority() -> None:
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
