"""Words of a claim looked up in another text."""

from collections.abc import Sequence

import numpy as np
import pytest

from tenure.algorithms.text.alignment import TITLED, likeness, read
from tenure.algorithms.text.passage import Tokens
from tests.worlds import encode


def letters(texts: Sequence[str]) -> list[Tokens]:
    """Tokens of two letters each, with a unit vector by the first of them."""
    found = []
    for text in texts:
        spans = tuple((n, min(n + 2, len(text))) for n in range(0, len(text), 2))
        rows = np.zeros((len(spans), 128), dtype=np.float32)
        for row, (start, _) in enumerate(spans):
            rows[row, ord(text[start]) % 128] = 1.0
        found.append(Tokens(rows, spans))
    return found


def test_words_take_the_mean_of_their_tokens() -> None:
    """Every word has one unit vector, made of the tokens that touch it."""
    (one,) = read(["abcd ef"], encode, letters)

    assert one.words == ("abcd", "ef")
    assert np.allclose(np.linalg.norm(one.vectors, axis=1), 1)
    assert one.vectors[0] @ one.tokens[0] == pytest.approx(0.707, abs=0.01)


def test_words_beyond_the_window_are_not_read() -> None:
    """What the model has cut off has no vector and is no word of the reading."""
    (one,) = read(["ab cd"], encode, lambda texts: [Tokens(letters(texts)[0].vectors[:1], ((0, 2),))])

    assert one.words == ("ab",)


def test_without_tokens_words_stand_alone() -> None:
    """A model that shows no tokens encodes each word by itself; a text without words has none."""
    bread, nothing = read(["fresh bread", "…"], encode, None)

    assert bread.words == ("fresh", "bread") and nothing.words == ()
    assert np.allclose(bread.vectors @ encode(["bread"])[0], [0, 1])


def test_a_word_is_answered_by_itself_its_like_or_the_title() -> None:
    """The same stem counts in full, a word of the title nearly so, anything else by likeness."""
    claim, text, nothing = read(["The rye breads rise", "bread of flour", "…"], encode, None)

    assert likeness(claim, text, "Rye") == pytest.approx([TITLED, 1.0, 0.0])
    assert likeness(claim, nothing, "") == pytest.approx([0.0, 0.0, 0.0])
