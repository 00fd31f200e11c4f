"""Tests of the decomposer's fallback and of the orders it accepts."""

import pytest
from pydantic import ValidationError

from tenure.roles.base import Evidence
from tenure.roles.research.decomposer import DecomposerInput, DecomposerOutput, SubQuestionDependency, fallback


def ordered(*pairs: tuple[int, tuple[int, ...]]) -> DecomposerOutput:
    dependencies = tuple(SubQuestionDependency(question=question, needs=needs) for question, needs in pairs)
    return DecomposerOutput(sub_questions=("a", "b", "c"), dependencies=dependencies)


def asked(question: str) -> tuple[str, ...]:
    return fallback(DecomposerInput(question=question), Evidence()).sub_questions


def test_a_comparison_asks_for_each_side_and_the_difference() -> None:
    """A comparison of two things gives three questions."""
    assert asked("Compare rye bread with wheat bread") == (
        "What is rye bread?",
        "What is wheat bread?",
        "How do rye bread and wheat bread differ?",
    )


def test_joined_questions_are_split() -> None:
    """Each part is a question of its own."""
    assert asked("How is bread made, and how does cheese ripen?") == ("How is bread made?", "How does cheese ripen?")


def test_a_single_question_is_unchanged() -> None:
    """A question without conjunctions is the only sub-question."""
    assert asked("How is bread made?") == ("How is bread made?",)


def test_there_are_at_most_six_parts() -> None:
    """Of many questions the sixth part holds the last ones."""
    assert len(asked(" ".join(f"What is bread number {n}?" for n in range(9)))) == 6


def test_references_are_dependencies() -> None:
    """A sub-question with a reference to an answer depends on it; others have no dependencies."""
    found = fallback(DecomposerInput(question="Who wrote Dune, and where was he born?"), Evidence())

    assert found.dependencies_by_number == {1: (), 2: (1,)}


def test_dependencies_of_one_question_are_merged() -> None:
    """A sub-question with two entries has the dependencies of both."""
    assert ordered((3, (1,)), (3, (2,))).dependencies_by_number == {1: (), 2: (), 3: (1, 2)}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(2, (3,)), (3, (2,))], "circle: . → . → ."),
        ([(2, (2,))], "circle: 2 → 2"),
        ([(2, (9,))], "names sub-question 9, but there are 3"),
        ([(9, (1,))], "names sub-question 9, but there are 3"),
    ],
)
def test_an_impossible_order_is_rejected(pairs: list[tuple[int, tuple[int, ...]]], message: str) -> None:
    """The error names the problem, so that a model can correct it."""
    with pytest.raises(ValidationError, match=message):
        ordered(*pairs)
