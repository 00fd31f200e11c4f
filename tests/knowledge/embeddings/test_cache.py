"""Test the embedding caches."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tenure.knowledge.embeddings.cache import CachedSentenceEncoder, EmbeddingCache
from tenure.knowledge.store.schema import CACHE, CACHE_SCHEMA
from tenure.knowledge.store.store import Store
from tests.knowledge.word_vectors import WordVectors


def test_cache_entries_belong_to_a_model(uri: str, model: WordVectors) -> None:
    """The same text has another entry under another model name."""
    store = Store(uri)
    heard: list[int] = []
    first = EmbeddingCache(store, model).embed(["a", "b", "a"], heard.append)
    again = EmbeddingCache(store, model).embed(["b", "a"], heard.append)
    other = EmbeddingCache(store, WordVectors("other")).embed(["a"], heard.append)

    assert (first.computed, again.computed, other.computed) == (2, 0, 1)
    assert np.array_equal(first.vectors[[1, 0]], again.vectors)
    assert np.array_equal(first.vectors[0], first.vectors[2])
    assert heard[1] == 3
    assert store.count_rows(CACHE) == 3


def test_a_damaged_vector_is_computed_again(uri: str, model: WordVectors) -> None:
    """A vector with inverted bits, which the database does not detect, is never returned."""
    store = Store(uri)
    good = EmbeddingCache(store, model).embed(["a", "b"]).vectors
    rows = store.read_rows(CACHE, CACHE_SCHEMA.names).to_pylist()
    changed = [rows[0] | {"vector": [-x for x in rows[0]["vector"]]}, rows[1]]
    store.upsert(CACHE, pa.Table.from_pylist(changed, schema=CACHE_SCHEMA), "key")
    again = EmbeddingCache(store, model).embed(["a", "b"])

    assert again.computed == 1
    assert np.array_equal(good, again.vectors)
    assert EmbeddingCache(store, model).embed(["a", "b"]).computed == 0


@pytest.mark.parametrize("part", ["data", "_versions"])
def test_a_damaged_cache_is_replaced(uri: str, model: WordVectors, part: str) -> None:
    """A table that cannot be read is moved aside, and its vectors are computed again."""
    EmbeddingCache(Store(uri), model).embed(["a", "b"])
    for file in Path(uri, f"{CACHE}.lance", part).iterdir():
        file.write_bytes(file.read_bytes()[:9])
    store = Store(uri)

    assert EmbeddingCache(store, model).embed(["a", "b"]).computed == 2
    assert EmbeddingCache(store, model).embed(["a", "b"]).computed == 0
    assert Path(uri, f"{CACHE}.damaged").is_dir()


def test_recent_sentences_are_cached(model: WordVectors) -> None:
    """A sentence is embedded once while it is among the most recently used."""
    sentences = CachedSentenceEncoder(model, capacity=2)
    rows = sentences.encode(["a", "b", "a"])
    sentences.encode(["a"])
    sentences.encode(["c"])

    assert np.array_equal(rows[0], rows[2])
    assert model.embedded == 3
    sentences.encode(["a"])
    assert model.embedded == 3
    sentences.encode(["b"])
    assert model.embedded == 4


def test_no_sentences_give_an_empty_array(model: WordVectors) -> None:
    """The empty array has the right number of columns."""
    assert (0, model.dimensions) == CachedSentenceEncoder(model).encode([]).shape
