"""Tests of the passage type."""

from dataclasses import FrozenInstanceError

import pytest

from tests.support.passages import passage


def test_passage_is_immutable() -> None:
    """Immutable text keeps quotes verbatim between retrieval and citation."""
    with pytest.raises(FrozenInstanceError):
        passage("Bread is old.").text = "Bread is new."  # type: ignore[misc]


def test_equal_passages_are_equal_values() -> None:
    """Passages are values: the same chunk found twice compares equal."""
    assert len({passage("Bread is old."), passage("Bread is old."), passage("Bread is old.", start=5)}) == 2
