"""Tests of stance detection."""

import pytest

from tenure.algorithms.retrieval.stance import detect_stance
from tenure.contracts.evidence.retrieval import PassageStance


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
def test_nearest_sentence_decides_the_stance(position: str, text: str, expected: PassageStance) -> None:
    """A text contradicts if exactly one side is negated; a sentence with other words is neutral."""
    assert detect_stance(position, text) == expected
