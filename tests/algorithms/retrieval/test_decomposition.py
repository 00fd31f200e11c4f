"""Tests of query decomposition."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.research.dependencies import sort_into_layers
from tenure.algorithms.retrieval.decomposition import (
    MAX_SUB_QUESTION_CHARACTERS,
    MAX_SUB_QUESTIONS,
    QuestionPart,
    decompose_question,
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How is bread made?", (QuestionPart("How is bread made?"),)),
        (
            "How is bread made, and how does cheese ripen?",
            (QuestionPart("How is bread made"), QuestionPart("How does cheese ripen?")),
        ),
        (
            "Who wrote Dune, and what did that author do before?",
            (QuestionPart("Who wrote Dune"), QuestionPart("What did that author do before?", (1,))),
        ),
        (
            "Who directed Alien? What else did he direct? How is cheese made?",
            (
                QuestionPart("Who directed Alien?"),
                QuestionPart("What else did he direct?", (1,)),
                QuestionPart("How is cheese made?"),
            ),
        ),
        (
            "Which town is it, how is bread made, and who rules that town?",
            (
                QuestionPart("Which town is it, how is bread made"),
                QuestionPart("Who rules that town?", (1,)),
            ),
        ),
        (
            "Who wrote Dune, and where was he born, and how does it end?",
            (QuestionPart("Who wrote Dune, and where was he born, and how does it end?"),),
        ),
        (
            "Compare rye bread with wheat bread",
            (
                QuestionPart("What is rye bread?"),
                QuestionPart("What is wheat bread?"),
                QuestionPart("How do rye bread and wheat bread differ?", (1, 2)),
            ),
        ),
        (
            "How does rye compare to wheat in terms of price and taste?",
            (
                QuestionPart("What is the price of rye?"),
                QuestionPart("What is the taste of rye?"),
                QuestionPart("What is the price of wheat?"),
                QuestionPart("What is the taste of wheat?"),
                QuestionPart("How do rye and wheat compare in price?", (1, 3)),
                QuestionPart("How do rye and wheat compare in taste?", (2, 4)),
            ),
        ),
    ],
)
def test_question_is_decomposed(question: str, expected: tuple[QuestionPart, ...]) -> None:
    """Parts are independent or refer to earlier answers; a question with other references stays whole."""
    assert decompose_question(question) == expected


@given(st.text(min_size=1, max_size=300))
@settings(deadline=None)
def test_dependencies_are_acyclic(question: str) -> None:
    """Any question has one to six parts of bounded length without cyclic dependencies."""
    found = decompose_question(question)

    assert 1 <= len(found) <= MAX_SUB_QUESTIONS
    assert all(0 < len(part.question) <= MAX_SUB_QUESTION_CHARACTERS for part in found) or not question.strip()
    assert sort_into_layers({number: part.needs for number, part in enumerate(found, 1)})
