"""How far a report agrees with itself, answers its question and is borne out."""

import numpy as np
import pytest

from tenure.algorithms.claims import self_evaluation
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import SectionDraft
from tests.worlds import encode


def section(topic: str, *texts: str) -> SectionDraft:
    return SectionDraft(topic=topic, draft=Draft(blocks=(Block(claims=tuple(Claim(text=text) for text in texts)),)))


SECTIONS = (section("Bread", "Bread rises for hours.", "It is baked."), section("Cheese", "Cheese ripens in a cellar."))


def test_a_question_is_taken_apart_and_looked_up() -> None:
    """A component is addressed by a section that has most of its words, and nearest to the one that has some."""
    asked = self_evaluation.components("How does bread rise, and how is wine made in cellars?")

    assert [self_evaluation.addressed(part, SECTIONS) for part in asked] == [True, False]
    assert self_evaluation.nearest(asked[1], SECTIONS) == "Cheese"
    assert self_evaluation.addressed("What is it?", SECTIONS)


def test_the_answer_is_told_in_three_ways() -> None:
    """What opens the sections, what is central and what is near the question make one version each."""
    claims = [claim.text for part in SECTIONS for claim in part.draft.claims]
    vectors = encode([*claims, "How does cheese ripen?"])

    first, central, near = self_evaluation.rephrasings(SECTIONS, vectors[:-1], vectors[-1])

    assert first == "Bread rises for hours. Cheese ripens in a cellar."
    assert set(central.split(". ")) == set(near.split(". "))


def test_a_report_may_contradict_itself() -> None:
    """Two sentences of one report that plainly disagree are named."""
    claims = ["The dough rises for 2 hours.", "Milk curdles.", "The dough rises for 9 hours."]

    found = self_evaluation.self_contradictions(claims, encode(claims))

    assert found == (f"“{claims[0]}” and “{claims[2]}”: 2 against 9",)


@pytest.mark.parametrize(("contradicted", "expected"), [(False, 1.0), (True, 0.5)])
def test_consistency_is_likeness_halved_by_a_contradiction(contradicted: bool, expected: float) -> None:
    """Equal versions are fully consistent, and so is a report that offers nothing to compare."""
    same = encode(["Bread rises."] * 3)

    assert self_evaluation.consistency(same, contradicted=contradicted) == pytest.approx(expected)
    assert self_evaluation.consistency(np.zeros((0, 0), dtype=np.float32), contradicted=contradicted) == expected


def test_overall_is_the_mean_of_the_scores() -> None:
    """Consistency, completeness and factuality count the same; a question without parts is complete."""
    found = self_evaluation.evaluation(0.9, ["wine"], 2, 1.0)

    assert (found.completeness, found.overall, found.missing) == (0.5, 0.8, ("wine",))
    assert self_evaluation.evaluation(1.0, [], 0, 1.0).overall == 1.0
