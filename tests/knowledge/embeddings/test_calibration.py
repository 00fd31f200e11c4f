"""Test the baseline similarity μ and the relevance computed from it."""

from pathlib import Path

import numpy as np
import pytest

from tenure.knowledge.embeddings.calibration import compute_mean_similarity, is_language_known, normalize_relevance
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.store import Store
from tenure.models.minilm.model import MiniLM
from tests.knowledge.conftest import Ingest
from tests.support.tiers import slow


def test_mean_similarity_covers_all_pairs() -> None:
    """The mean covers every pair of one vector from each side."""
    vectors = np.array([[1, 0], [0.6, 0.8]], dtype=np.float32)
    strangers = np.array([[1, 0], [0, 1]], dtype=np.float32)

    assert compute_mean_similarity(vectors, strangers) == pytest.approx(0.6)


def test_mean_similarity_is_limited() -> None:
    """Opposite vectors give zero, and equal ones less than one, so that relevance stays finite."""
    one, other = np.array([[1, 0]], dtype=np.float32), np.array([[-1, 0]], dtype=np.float32)

    assert compute_mean_similarity(one, other) == 0.0
    assert compute_mean_similarity(one, one) == 0.95


def test_relevance_is_zero_at_the_baseline_and_one_for_equal_texts() -> None:
    """Normalized relevance maps the baseline to zero and a cosine of one to one."""
    assert (normalize_relevance(0.3, 0.3), normalize_relevance(1.0, 0.3)) == (0.0, 1.0)
    assert normalize_relevance(1.0000001, 0.3) == 1.0
    assert normalize_relevance(0.1, 0.3) < 0


@slow
def test_similarity_within_a_corpus_does_not_raise_the_baseline(ingest: Ingest, tmp_path: Path, uri: str) -> None:
    """Forty nearly equal documents have the same baseline as one of them."""
    for n in range(40):
        text = f"# Report {n}\n\nThe committee of the harbour met on day{n} and spoke of item{n}.\n"
        (tmp_path / f"{n}.md").write_text(text, encoding="utf-8")
    ingest(*(tmp_path / f"{n}.md" for n in range(40)), corpus="all")
    ingest(tmp_path / "0.md", corpus="one")
    records = catalogue.list_corpora(Store(uri))

    assert records["all"].baseline == pytest.approx(records["one"].baseline, abs=0.05)
    assert records["all"].baseline < 0.3


def test_empty_corpus_has_baseline_zero(ingest: Ingest, tmp_path: Path, uri: str) -> None:
    """A corpus without chunks has μ = 0."""
    ingest(tmp_path, corpus="empty")

    assert catalogue.list_corpora(Store(uri))["empty"].baseline == 0.0


@slow
def test_built_in_model_knows_english_only(tmp_path: Path) -> None:
    """The model is measured to know no language of another alphabet, and none of a related one."""
    encode = MiniLM(tmp_path).embed

    assert {language: is_language_known(encode, language) for language in ("en", "da", "de", "ja", "nl", "ru")} == {
        "en": True,
        **dict.fromkeys(("da", "de", "ja", "nl", "ru"), False),
    }
