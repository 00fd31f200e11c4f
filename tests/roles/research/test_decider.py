"""The decider's twin and its prompt."""

from typing import Any

from tenure.contracts.research.spiral import Reflection
from tenure.roles.base import Evidence
from tenure.roles.research.decider import DeciderInput, DeciderOutput, offline, render
from tenure.roles.research.planner import Standing
from tests.roles.cases import REFLECTION, SYNTHESIS

WEAK = Standing(heading="Yeast", question="What does yeast do?", coverage=0.1, passages=1)
FAIR = Standing(heading="Flour", question="Which flour?", coverage=0.5, passages=3)
FULL = Standing(heading="Oven", question="How hot?", coverage=0.9, passages=9)


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
    return offline(asked(**others), Evidence())


def test_thin_topics_are_a_reason_to_go_on() -> None:
    """The least covered ones are what to look for."""
    assert decided() == DeciderOutput(
        needs_more_research=True,
        reasoning="Least is known on “Yeast” (0.10), “Flour” (0.50); the gain is stalling.",
        key_factors=("Yeast", "Flour"),
    )


def test_where_every_topic_is_covered_the_gain_decides() -> None:
    """It is enough once a cycle brings little; before that, what the outline leaves aside is looked for."""
    assert decided(outline=(FULL,), gains=(0.4, 0.05)) == DeciderOutput(
        needs_more_research=False,
        reasoning="Every topic is well covered, and the last cycle brought little that was new.",
        key_factors=(),
    )
    more = decided(outline=(FULL,), latent=("Rye",))
    assert (more.needs_more_research, more.key_factors) == (True, ("Rye",))


def test_a_budget_that_is_nearly_used_is_enough() -> None:
    """The report has to be written from what there is."""
    assert not decided(scarce=True).needs_more_research


def test_people_who_wait_to_be_heard_come_first() -> None:
    """What they said is looked for even where all is covered, in few words."""
    found = decided(outline=(FULL,), scarce=True, feedback=("More on rye", *("word " * 100 for _ in range(6))))

    assert found.needs_more_research
    assert (found.key_factors[0], len(found.key_factors)) == ("More on rye", 5)
    assert all(len(factor) <= 200 for factor in found.key_factors)


def test_the_prompt_tells_what_there_is_to_decide_on() -> None:
    """Coverage, gains, what is missing, what people said and what is left are all named."""
    told = asked(reflection=REFLECTION, latent=("Rye",), feedback=("More salt",), scarce=True)
    user = render(told, Evidence())[1].content

    for line in (
        "- Yeast: 0.10, 1 passages",
        "Missing:\n- Why dough rises",
        "Not in the outline:\n- Rye",
        "People said:\n- More salt",
        "Gains: 0.40, 0.20 (Stalling). 1 of at most 3 cycles are over. Most of the budget is used.",
    ):
        assert line in user


def test_a_prompt_leaves_out_what_there_is_not() -> None:
    """Without reflection, or with one that misses nothing, nothing is said of it; nor of offers and wishes."""
    content = Reflection(overall_quality="good", depth_assessment="Deep.")
    for reflection in (None, content):
        user = render(asked(reflection=reflection), Evidence())[1].content
        assert not any(tag in user for tag in ("<reflection>", "<feedback>", "Not in the outline", "budget"))
