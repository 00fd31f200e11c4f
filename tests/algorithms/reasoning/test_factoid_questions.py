"""Tests of factoid questions and of the details that answer them."""

import pytest

from tenure.algorithms.reasoning.factoid_questions import has_detail, is_factoid_question


def test_factoid_questions_are_recognised() -> None:
    """Only questions for a date, a number or a person are factoid questions."""
    assert is_factoid_question("Who baked it?")
    assert not is_factoid_question("How is bread made?")


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("When was the guild founded?", "It was founded in 1848.", True),
        ("When was the guild founded?", "It was founded in Ghent.", False),
        ("How many ovens has the guild?", "The guild has 12 ovens.", True),
        ("How many ovens has the guild?", "The guild has ovens.", False),
        ("Which city has the Guild of Bakers?", "The Guild of Bakers is in Ghent.", True),
        ("Which city has the Guild of Bakers?", "The Guild of Bakers is old.", False),
        ("Why did the guild close?", "The guild closed when Ghent burnt.", False),
    ],
)
def test_a_text_may_have_the_requested_detail(question: str, text: str, expected: bool) -> None:
    """A date, a number, or a name that is not in the question; an explanation asks for none of them."""
    assert has_detail(question, text) is expected
