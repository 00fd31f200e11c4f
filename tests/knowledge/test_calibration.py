"""μ, and relevance measured from it."""

from pathlib import Path

import numpy as np
import pytest

from tenure.knowledge import catalogue
from tenure.knowledge.calibration import fallback_similarity, mean_similarity, relevance
from tenure.knowledge.store import Store
from tests.knowledge.conftest import Ingest
from tests.knowledge.word_vectors import WordVectors


def test_only_pairs_of_different_sources_count() -> None:
    """The mean leaves out how alike one source's own chunks are."""
    vectors = np.array([[1, 0], [1, 0], [0.6, 0.8]], dtype=np.float32)

    assert mean_similarity(vectors, ["a", "a", "b"]) == pytest.approx(0.6)


def test_the_mean_stays_usable() -> None:
    """Opposite vectors give zero, and equal ones less than one, so that relevance stays finite."""
    assert mean_similarity(np.array([[1, 0], [-1, 0]], dtype=np.float32), ["a", "b"]) == 0.0
    assert mean_similarity(np.array([[1, 0], [1, 0]], dtype=np.float32), ["a", "b"]) == 0.95


def test_relevance_is_zero_for_strangers_and_one_for_twins() -> None:
    """Normalised relevance starts at the similarity of unrelated chunks and ends at one."""
    assert (relevance(0.3, 0.3), relevance(1.0, 0.3)) == (0.0, 1.0)
    assert relevance(1.0000001, 0.3) == 1.0
    assert relevance(0.1, 0.3) < 0


def test_a_small_corpus_takes_the_models_own_measure(ingest: Ingest, docs: Path, uri: str, model: WordVectors) -> None:
    """Three documents say nothing about strangers; the model's unrelated sentences do."""
    ingest(docs)

    assert fallback_similarity(model.embed) == catalogue.corpus(Store(uri), "c").unrelated


def test_a_corpus_is_measured_once_and_the_same_everywhere(ingest: Ingest, tmp_path: Path, uri: str) -> None:
    """A corpus whose documents share words has a higher μ, the same in every copy."""
    for n in range(40):
        text = f"# Report {n}\n\nThe committee of the harbour met on day{n} and spoke of item{n}.\n"
        (tmp_path / f"{n}.md").write_text(text, encoding="utf-8")
    for corpus in ("one", "two"):
        ingest(*(tmp_path / f"{n}.md" for n in range(40)), corpus=corpus)
    records = catalogue.corpora(Store(uri))

    assert records["one"].unrelated == pytest.approx(records["two"].unrelated, abs=0.02)
    assert records["one"].unrelated > 0.5
