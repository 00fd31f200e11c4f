"""The passage: what roles and algorithms see of a chunk."""

from dataclasses import FrozenInstanceError

import pytest

from tests.passages import passage


def test_a_passage_cannot_be_changed() -> None:
    """A quote is verbatim because nobody can change the text between retrieval and citation."""
    with pytest.raises(FrozenInstanceError):
        passage("Bread is old.").text = "Bread is new."  # type: ignore[misc]


def test_equal_passages_are_one() -> None:
    """Passages are values: the same chunk found twice can be told to be the same."""
    assert len({passage("Bread is old."), passage("Bread is old."), passage("Bread is old.", start=5)}) == 2
