"""The questions inside a question."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.research.dependencies import layers
from tenure.algorithms.retrieval.decomposition import LONGEST, MOST, Part, decompose


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How is bread made?", (Part("How is bread made?"),)),
        (
            "How is bread made, and how does cheese ripen?",
            (Part("How is bread made"), Part("How does cheese ripen?")),
        ),
        (
            "Who wrote Dune, and what did that author do before?",
            (Part("Who wrote Dune"), Part("What did that author do before?", (1,))),
        ),
        (
            "Who directed Alien? What else did he direct? How is cheese made?",
            (Part("Who directed Alien?"), Part("What else did he direct?", (1,)), Part("How is cheese made?")),
        ),
        (
            "Which town is it, how is bread made, and who rules that town?",
            (
                Part("Which town is it, how is bread made"),
                Part("Who rules that town?", (1,)),
            ),
        ),
        (
            "Who wrote Dune, and where was he born, and how does it end?",
            (Part("Who wrote Dune, and where was he born, and how does it end?"),),
        ),
        (
            "Compare rye bread with wheat bread",
            (
                Part("What is rye bread?"),
                Part("What is wheat bread?"),
                Part("How do rye bread and wheat bread differ?", (1, 2)),
            ),
        ),
        (
            "How does rye compare to wheat in terms of price and taste?",
            (
                Part("What is the price of rye?"),
                Part("What is the taste of rye?"),
                Part("What is the price of wheat?"),
                Part("What is the taste of wheat?"),
                Part("How do rye and wheat compare in price?", (1, 3)),
                Part("How do rye and wheat compare in taste?", (2, 4)),
            ),
        ),
    ],
)
def test_a_question_is_taken_apart(question: str, expected: tuple[Part, ...]) -> None:
    """Parts stand alone or name the earlier ones whose answers they need; what leans otherwise stays whole."""
    assert decompose(question) == expected


@given(st.text(min_size=1, max_size=300))
@settings(deadline=None)
def test_whatever_is_asked_can_be_ordered(question: str) -> None:
    """There are one to six parts of bounded length, and their needs go in no circle."""
    found = decompose(question)

    assert 1 <= len(found) <= MOST
    assert all(0 < len(part.question) <= LONGEST for part in found) or not question.strip()
    assert layers({number: part.needs for number, part in enumerate(found, 1)})
