"""Test the benchmark over real sentences: which sentences it takes, and that their vectors are computed once."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.sentences.cache import TooFewSentences, list_sentences, load_sentences
from benchmarks.sentences.measure import MODES, measure
from tenure.knowledge.store.schema import build_chunk_table_name
from tenure.knowledge.store.store import Store
from tests.knowledge.word_vectors import WordVectors
from tests.support.tiers import slow

VOCABULARY = "harbour press weaver tavern spring bridge mill barge market tower garden clock".split()


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """Files with forty different sentences."""
    folder = tmp_path / "texts"
    folder.mkdir()
    random = np.random.default_rng(3)
    words = [" ".join(random.choice(VOCABULARY, 14)) for _ in range(40)]
    lines = [f"Ada Comb saw {said}." for said in words[:20]]
    (folder / "a.md").write_text("\n\n".join([*lines, lines[0], "Too short."]), encoding="utf-8")
    rows = [json.dumps({"text": [f"Tom Loom built {said}."]}) for said in words[20:]]
    (folder / "b.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return folder


def test_vectors_are_computed_once(texts: Path, tmp_path: Path) -> None:
    """Sentences are distinct and long enough; a second run reads all vectors from the cache."""
    model, cache = WordVectors(), tmp_path / "cache"
    first = load_sentences([texts], 40, model, cache)
    second = load_sentences([texts], 40, model, cache)

    assert len(set(first.texts)) == len(list_sentences([texts])) == model.embedded == 40
    assert first.texts == second.texts
    assert (first.vectors == second.vectors).all()
    with pytest.raises(TooFewSentences, match="contain 40 sentences, fewer than 41"):
        load_sentences([texts], 41, model, cache)


@slow
def test_every_mode_is_measured(texts: Path, tmp_path: Path) -> None:
    """A scan of a small base finds all nearest sentences."""
    found = measure(
        load_sentences([texts], 40, WordVectors(dimensions=384), tmp_path / "cache"), 30, str(tmp_path / "base")
    )

    assert [figures.mode for figures in found] == list(MODES)
    assert found[0].recall > 0.8


@slow
def test_copies_are_chunks_of_their_own(texts: Path, tmp_path: Path) -> None:
    """A base of three copies of each sentence has three times as many chunks, near each other."""
    sentences, base = load_sentences([texts], 40, WordVectors(dimensions=384), tmp_path / "cache"), tmp_path / "base"
    found = measure(sentences, 30, str(base), copies=3)

    assert Store(str(base)).count_rows(build_chunk_table_name(384)) == 90
    assert found[0].recall > 0.8
