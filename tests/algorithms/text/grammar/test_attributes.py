"""Tests of questions for several attributes."""

import pytest

from tenure.algorithms.text.grammar.attributes import split_attributes, split_cases


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


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "What is proposed for f-strings, for build requirements, and for TLS?",
            (
                "What is proposed for f-strings?",
                "What is proposed for build requirements?",
                "What is proposed for TLS?",
            ),
        ),
        ("How is rye grown in Poland and in Spain?", ("How is rye grown in Poland?", "How is rye grown in Spain?")),
        ("Describe the rules of chess and of go.", ("Describe the rules of chess.", "Describe the rules of go.")),
    ],
)
def test_cases_with_a_repeated_preposition_are_split(question: str, expected: tuple[str, ...]) -> None:
    """Each case with a preposition of its own is asked for separately."""
    assert split_cases(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "Which people worked for the mill and for the bakery?",
        "How do the rules differ in Poland and in Spain?",
        "How is rye grown in Poland and Spain?",
        "What is proposed for those who bake and for others?",
        "What is known of a, of b, of c, of d, of e, of f and of g?",
    ],
)
def test_questions_on_cases_that_belong_together_stay_whole(question: str) -> None:
    """Cases that share one preposition or are related to each other are one question."""
    assert split_cases(question) == (question,)
