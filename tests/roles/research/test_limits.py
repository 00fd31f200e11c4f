"""Limits in the prompts of the research roles agree with their schemas."""

import re

import pytest

from tenure.algorithms.retrieval.decomposition import MAX_SUB_QUESTIONS
from tenure.roles.research import decomposer, hypothetical_document

NUMBERS = {"five": 5, "six": 6}
CHARACTERS_PER_WORD = 10
"""Characters of a long word with its space."""


@pytest.mark.parametrize(
    ("prompt", "pattern", "limit"),
    [
        (decomposer.SYSTEM, r"Between one and (\w+) sub-questions", MAX_SUB_QUESTIONS),
    ],
)
def test_a_number_of_items_is_that_of_the_schema(prompt: str, pattern: str, limit: int) -> None:
    """The largest number of items in the prompt is the largest that the schema allows."""
    (named,) = re.findall(pattern, prompt)

    assert NUMBERS[named] == limit


def test_a_hypothetical_text_has_room_for_its_words() -> None:
    """The schema allows the longest text that the prompt asks for, and not twice of it."""
    (words,) = map(int, re.findall(r"80 to (\d+) words", hypothetical_document.SYSTEM))
    room = hypothetical_document.MAX_CHARACTERS / CHARACTERS_PER_WORD

    assert words <= room < 2 * words
