"""The decomposer's twin, and the orders it accepts."""

import pytest
from pydantic import ValidationError

from tenure.roles.base import Evidence
from tenure.roles.research.decomposer import DecomposerInput, DecomposerOutput, Dependency, offline


def ordered(*pairs: tuple[int, tuple[int, ...]]) -> DecomposerOutput:
    dependencies = tuple(Dependency(question=question, needs=needs) for question, needs in pairs)
    return DecomposerOutput(sub_questions=("a", "b", "c"), dependencies=dependencies)


def asked(question: str) -> tuple[str, ...]:
    return offline(DecomposerInput(question=question), Evidence()).sub_questions


def test_a_comparison_asks_for_each_side_and_the_difference() -> None:
    """Two things compared are three questions."""
    assert asked("Compare rye bread with wheat bread") == (
        "What is rye bread?",
        "What is wheat bread?",
        "How do rye bread and wheat bread differ?",
    )


def test_joined_questions_are_taken_apart() -> None:
    """Each part is a question of its own."""
    assert asked("How is bread made, and how does cheese ripen?") == ("How is bread made", "How does cheese ripen?")


def test_a_single_question_is_its_own_only_part() -> None:
    """What has no joints is asked as it is."""
    assert asked("How is bread made?") == ("How is bread made?",)


def test_there_are_at_most_six_parts() -> None:
    """A flood of questions is cut to the first six."""
    assert len(asked(" ".join(f"What is bread number {n}?" for n in range(9)))) == 6


def test_a_part_waits_for_the_answer_it_points_to() -> None:
    """What can be asked at once needs nothing; what points to an answer needs it."""
    found = offline(DecomposerInput(question="Who wrote Dune, and where was he born?"), Evidence())

    assert found.needs == {1: (), 2: (1,)}


def test_dependencies_of_one_question_add_up() -> None:
    """A sub-question named twice waits for all it needs."""
    assert ordered((3, (1,)), (3, (2,))).needs == {1: (), 2: (), 3: (1, 2)}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(2, (3,)), (3, (2,))], "circle: 2 → 3 → 2"),
        ([(2, (2,))], "circle: 2 → 2"),
        ([(2, (9,))], "2 depends on 9, which is not there; there are 1, 2, 3"),
        ([(9, (1,))], "names sub-question 9, but there are 3"),
    ],
)
def test_an_impossible_order_is_refused(pairs: list[tuple[int, tuple[int, ...]]], message: str) -> None:
    """The error says what is wrong, so that a model can mend it when it is asked again."""
    with pytest.raises(ValidationError, match=message):
        ordered(*pairs)
