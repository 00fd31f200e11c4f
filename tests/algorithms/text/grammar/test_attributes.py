"""Tests of questions for several attributes."""

import pytest

from tenure.algorithms.text.grammar.attributes import split_attributes


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "What are the size, the ages and the cost of the dam?",
            ("What is the size of the dam?", "What are the ages of the dam?", "What is the cost of the dam?"),
        ),
        (
            "What were the cause and the effects of the fire?",
            ("What was the cause of the fire?", "What were the effects of the fire?"),
        ),
        ("What are the pros and cons of rye?", ("What are the pros and cons of rye?",)),
        ("What is the size of the dam?", ("What is the size of the dam?",)),
    ],
)
def test_attributes_with_articles_are_split(question: str, expected: tuple[str, ...]) -> None:
    """Each attribute with an article of its own is asked for separately; any other question stays whole."""
    assert split_attributes(question) == expected


def test_a_long_list_stays_whole() -> None:
    """More attributes than a question may have parts are not split."""
    question = (
        f"What are {', '.join(f'the {noun}' for noun in 'age size cost form weight colour'.split())} and the use of it?"
    )

    assert split_attributes(question) == (question,)
