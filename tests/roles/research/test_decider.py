"""Tests of the decider's fallback and its prompt."""

from typing import Any

from tenure.roles.base import Evidence
from tenure.roles.research.decider import DeciderInput, DeciderOutput, fallback, render
from tenure.roles.research.planner import TopicCoverage
from tests.roles.cases import SYNTHESIS

WEAK = TopicCoverage(heading="Yeast", question="What does yeast do?", coverage=0.1, passages=1)
FAIR = TopicCoverage(heading="Flour", question="Which flour?", coverage=0.5, passages=3)
FULL = TopicCoverage(heading="Oven", question="How hot?", coverage=0.9, passages=9)


def asked(**others: Any) -> DeciderInput:
    return DeciderInput(
        **{
            "question": "How is bread made?",
            "cycle": 1,
            "max_cycles": 3,
            "outline": (FAIR, FULL, WEAK),
            "gains": (0.4, 0.2),
            "trend": "Stalling",
            "synthesis": SYNTHESIS,
            **others,
        }
    )


def decided(**others: Any) -> DeciderOutput:
    return fallback(asked(**others), Evidence())


def test_topics_with_little_coverage_continue_the_research() -> None:
    """The key factors are the topics with the least coverage."""
    assert decided() == DeciderOutput(
        needs_more_research=True,
        reasoning="Least is known on “Yeast” (0.10), “Flour” (0.50); the gain is stalling.",
        key_factors=("Yeast", "Flour"),
    )


def test_the_gain_decides_if_every_topic_is_covered() -> None:
    """With a small gain the research ends; with a larger one the latent topics are the key factors."""
    assert decided(outline=(FULL,), gains=(0.4, 0.05)) == DeciderOutput(
        needs_more_research=False,
        reasoning="Every topic is well covered, and the last cycle brought little that was new.",
        overall_quality="good",
    )
    more = decided(outline=(FULL,), latent=("Rye",))
    assert (more.needs_more_research, more.key_factors) == (True, ("Rye",))


def test_a_budget_running_low_ends_the_research() -> None:
    """The report is written from the available evidence."""
    assert not decided(running_low=True).needs_more_research


def test_open_feedback_continues_the_research() -> None:
    """Feedback is a key factor even if all topics are covered, in shortened form."""
    found = decided(outline=(FULL,), running_low=True, feedback=("More on rye", *("word " * 100 for _ in range(6))))

    assert found.needs_more_research
    assert (found.key_factors[0], len(found.key_factors)) == ("More on rye", 5)
    assert all(len(factor) <= 200 for factor in found.key_factors)


def test_the_prompt_contains_the_research_state() -> None:
    """Topics, gains, feedback and limits are part of the prompt."""
    told = asked(latent=("Rye",), feedback=("More salt",), running_low=True)
    user = render(told, Evidence())[1].content

    for line in (
        "- Yeast: What does yeast do? (1 passage)",
        "Not in the outline:\n- Rye",
        "People said:\n- More salt",
        "Gains: 0.40, 0.20 (Stalling). 1 of at most 3 cycles are over. Most of the budget is used.",
    ):
        assert line in user


def test_empty_parts_are_omitted_from_the_prompt() -> None:
    """Empty latent topics and feedback are omitted."""
    user = render(asked(), Evidence())[1].content

    assert not any(tag in user for tag in ("<latent_topics>", "<feedback>", "Not in the outline", "budget"))
