"""The decomposer's twin."""

from tenure.roles.base import Evidence
from tenure.roles.decomposer import DecomposerInput, offline


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
