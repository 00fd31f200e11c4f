"""μ, and relevance measured from it."""

from pathlib import Path

import numpy as np
import pytest

from tenure.knowledge.embeddings.calibration import mean_similarity, relevance
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest


def test_every_pair_with_a_stranger_counts() -> None:
    """The mean is over all pairs of one vector from each side."""
    vectors = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
    strangers = np.array([[1, 0], [0, 1]], dtype=np.float32)

    assert mean_similarity(vectors, strangers) == pytest.approx(0.6)


def test_the_mean_stays_usable() -> None:
    """Opposite vectors give zero, and equal ones less than one, so that relevance stays finite."""
    one, other = np.array([[1, 0]], dtype=np.float32), np.array([[-1, 0]], dtype=np.float32)

    assert mean_similarity(one, other) == 0.0
    assert mean_similarity(one, one) == 0.95


def test_relevance_is_zero_for_strangers_and_one_for_twins() -> None:
    """Normalised relevance starts at the similarity of unrelated chunks and ends at one."""
    assert (relevance(0.3, 0.3), relevance(1.0, 0.3)) == (0.0, 1.0)
    assert relevance(1.0000001, 0.3) == 1.0
    assert relevance(0.1, 0.3) < 0


def test_likeness_within_a_corpus_does_not_count(ingest: Ingest, tmp_path: Path, uri: str) -> None:
    """Forty nearly equal documents have the μ of one of them: strangers are measured, not siblings."""
    for n in range(40):
        text = f"# Report {n}\n\nThe committee of the harbour met on day{n} and spoke of item{n}.\n"
        (tmp_path / f"{n}.md").write_text(text, encoding="utf-8")
    ingest(*(tmp_path / f"{n}.md" for n in range(40)), corpus="all")
    ingest(tmp_path / "0.md", corpus="one")
    records = catalogue.corpora(Store(uri))

    assert records["all"].unrelated == pytest.approx(records["one"].unrelated, abs=0.05)
    assert records["all"].unrelated < 0.3


def test_an_empty_corpus_is_measured_too(ingest: Ingest, tmp_path: Path, uri: str) -> None:
    """No chunk gives zero, not an error."""
    ingest(tmp_path, corpus="empty")

    assert catalogue.corpora(Store(uri))["empty"].unrelated == 0.0
