"""Tests of masking."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.grammar.masking import MASK, mask_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('Who wrote "A and B"?', f"Who wrote {MASK * 9}?"),
        ("What is “Who, me?” (a song)?", f"What is {MASK * 10} {MASK * 8}?"),
        ("Does Dr. Oat live in the U.S. now?", f"Does Dr{MASK} Oat live in the U{MASK}S{MASK} now?"),
        ("How is bread made? Why?", "How is bread made? Why?"),
    ],
)
def test_quotations_brackets_and_abbreviations_are_masked(text: str, expected: str) -> None:
    """Their marks and words are hidden, the ends of sentences are not."""
    assert mask_text(text) == expected


@given(st.text(max_size=200))
@settings(deadline=None)
def test_positions_are_kept(text: str) -> None:
    """A masked text is as long as the original."""
    assert len(mask_text(text)) == len(text)
