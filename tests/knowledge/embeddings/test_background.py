"""Test embedding at low priority."""

import os
import sys
import threading
from collections.abc import Sequence

import pytest

from tenure.algorithms.text.passage import Vectors
from tenure.knowledge.embeddings.background import NICENESS, BackgroundModel
from tests.knowledge.word_vectors import WordVectors


def _own() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


class _Watched(WordVectors):
    """Model that records the priorities of its calling thread and of a thread it starts."""

    seen: tuple[int, ...] = ()

    def embed(self, texts: Sequence[str]) -> Vectors:
        found = [_own()]
        child = threading.Thread(target=lambda: found.append(_own()))
        child.start()
        child.join()
        _Watched.seen = tuple(found)
        if "lost" in texts:
            raise LookupError("lost")
        return super().embed(texts)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no priority for each thread")
def test_background_model_lowers_the_priority_of_all_its_threads() -> None:
    """Its threads get a lower priority, the caller keeps its own, and the vectors are the same."""
    model = _Watched()
    behind = BackgroundModel(model)
    before = _own()
    vectors = behind.embed(["bees dance"])

    assert _Watched.seen == (NICENESS, NICENESS)
    assert _own() == before
    assert (vectors == model.embed(["bees dance"])).all()
    assert (behind.name, behind.dimensions, behind.count_tokens("bees dance")) == ("words", 256, 2)


def test_errors_are_raised_in_the_caller() -> None:
    """An error of the model is raised in the calling thread."""
    with pytest.raises(LookupError, match="lost"):
        BackgroundModel(_Watched()).embed(["lost"])
