"""Sides of a position, told by words alone."""

import pytest

from tenure.algorithms.retrieval.stance import side
from tenure.contracts.evidence.retrieval import Side


@pytest.mark.parametrize(
    ("position", "text", "expected"),
    [
        ("Vitamin C prevents colds", "Vitamin C prevents most colds.", "supporting"),
        ("Vitamin C prevents colds", "Vitamin C does not prevent colds. It is an acid.", "contradicting"),
        ("Vitamin C does not prevent colds", "Vitamin C prevents colds.", "contradicting"),
        ("Vitamin C does not prevent colds", "It is refuted that vitamin C prevents colds.", "supporting"),
        ("Vitamin C prevents colds", "It is not wrong that vitamin C prevents colds.", "supporting"),
        ("Vitamin C prevents colds", "Glaciers are not warm.", "neutral"),
        ("Vitamin C prevents colds", "", "neutral"),
        ("Is it?", "Vitamin C prevents colds.", "neutral"),
    ],
)
def test_the_nearest_sentence_speaks_for_a_text(position: str, text: str, expected: Side) -> None:
    """It contradicts where one of both denies and the other does not; a sentence with other words takes no side."""
    assert side(position, text) == expected
