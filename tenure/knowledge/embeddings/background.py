"""Embedding that gives way: what nobody waits for must not take the processor from what somebody waits for.

Only the model gives way, not the code around it: a thread of low priority that holds the interpreter's lock
would make everybody wait.
"""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from typing import TypeVar

from tenure.algorithms.text.passage import Vectors
from tenure.models.embedding import EmbeddingModel

NICENESS = 5
"""A third of what an ordinary thread gets of a processor that both want; all of one that nobody else wants."""

T = TypeVar("T")


class BackgroundModel:
    """An embedding model whose threads have a low priority."""

    def __init__(self, model: EmbeddingModel) -> None:
        """Embed like `model`, with threads of its own: those of a loaded model keep the priority they began with."""
        self._model = copy(model)
        self.name, self.dimensions, self.max_tokens = model.name, model.dimensions, model.max_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order."""
        return in_background(lambda: self._model.embed(texts))

    def count_tokens(self, text: str) -> int:
        """Return how many tokens the whole text takes."""
        return self._model.count_tokens(text)


def in_background(work: Callable[[], T]) -> T:
    """Do work in a thread of its own, and return its outcome; threads that it starts give way as well.

    Only Linux has a priority for each thread; elsewhere the work gets its full share.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="background", initializer=_give_way) as thread:
        return thread.submit(work).result()


def _give_way() -> None:
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
