"""Tests of word alignment between a claim and a text."""

from collections.abc import Sequence

import numpy as np
import pytest

from tenure.algorithms.text.alignment import MIN_TITLE_SIMILARITY, encode_texts, score_word_alignment
from tenure.algorithms.text.passage import EncodedTokens
from tests.support.worlds import encode


def letters(texts: Sequence[str]) -> list[EncodedTokens]:
    """Return tokens of two letters each, with a unit vector by the first letter."""
    found = []
    for text in texts:
        spans = tuple((n, min(n + 2, len(text))) for n in range(0, len(text), 2))
        rows = np.zeros((len(spans), 128), dtype=np.float32)
        for row, (start, _) in enumerate(spans):
            rows[row, ord(text[start]) % 128] = 1.0
        found.append(EncodedTokens(rows, spans))
    return found


def test_word_vector_is_mean_of_its_tokens() -> None:
    """Every word has one unit vector, the mean of the tokens that overlap it."""
    (one,) = encode_texts(["abcd ef"], encode, letters)

    assert one.words == ("abcd", "ef")
    assert np.allclose(np.linalg.norm(one.word_vectors, axis=1), 1)
    assert one.word_vectors[0] @ one.token_vectors[0] == pytest.approx(0.707, abs=0.01)


def test_words_outside_the_window_are_omitted() -> None:
    """Text beyond the model's window has no vectors and no words."""
    (one,) = encode_texts(["ab cd"], encode, lambda texts: [EncodedTokens(letters(texts)[0].vectors[:1], ((0, 2),))])

    assert one.words == ("ab",)


def test_words_are_encoded_in_isolation_without_token_vectors() -> None:
    """Without token vectors each word is encoded in isolation; a text without words has none."""
    bread, nothing = encode_texts(["fresh bread", "…"], encode, None)

    assert bread.words == ("fresh", "bread") and nothing.words == ()
    assert np.allclose(bread.word_vectors @ encode(["bread"])[0], [0, 1])


def test_alignment_scores_same_stem_title_and_similarity() -> None:
    """The same stem scores 1, a word of the title nearly 1, any other word its similarity."""
    claim, text, nothing = encode_texts(["The rye breads rise", "bread of flour", "…"], encode, None)

    assert score_word_alignment(claim, text, "Rye") == pytest.approx([MIN_TITLE_SIMILARITY, 1.0, 0.0])
    assert score_word_alignment(claim, nothing, "") == pytest.approx([0.0, 0.0, 0.0])
