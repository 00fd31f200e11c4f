"""Tests of self-evaluation."""

import numpy as np
import pytest

from tenure.algorithms.claims import self_evaluation
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import SectionDraft
from tests.support.worlds import encode


def section(topic: str, *texts: str) -> SectionDraft:
    return SectionDraft(topic=topic, draft=Draft(blocks=(Block(claims=tuple(Claim(text=text) for text in texts)),)))


SECTIONS = (section("Bread", "Bread rises for hours.", "It is baked."), section("Cheese", "Cheese ripens in a cellar."))


def test_components_are_matched_with_sections() -> None:
    """Sentences near a component answer it; headings do not, and a component without content words has no answer."""
    asked = self_evaluation.list_components("For how many hours does bread rise, and how is wine made in cellars?")
    renamed = (section("How is wine made in cellars?", "Bread rises for hours.", "It is baked."),)

    assert [self_evaluation.is_addressed(part, SECTIONS, encode) for part in asked] == [True, False]
    assert not self_evaluation.is_addressed(asked[1], renamed, encode)
    assert not self_evaluation.is_addressed("What is it?", SECTIONS, encode)
    assert not self_evaluation.is_addressed(asked[0], (), encode)


def test_answer_has_three_versions() -> None:
    """First sentences, central sentences and sentences near the question make one version each."""
    claims = [claim.text for part in SECTIONS for claim in part.draft.claims]
    vectors = encode([*claims, "How does cheese ripen?"])

    first, central, near = self_evaluation.build_rephrasings(SECTIONS, vectors[:-1], vectors[-1])

    assert first == "Bread rises for hours. Cheese ripens in a cellar."
    assert set(central.split(". ")) == set(near.split(". "))


def test_self_contradictions_are_found() -> None:
    """Contradicting sentences of one report are listed."""
    claims = ["The dough rises for 2 hours.", "Milk curdles.", "The dough rises for 9 hours."]

    found = self_evaluation.find_self_contradictions(claims, encode(claims))

    assert found == (f"“{claims[0]}” and “{claims[2]}”: 2 against 9",)


@pytest.mark.parametrize(("contradicted", "expected"), [(False, 1.0), (True, 0.5)])
def test_contradiction_halves_consistency(contradicted: bool, expected: float) -> None:
    """Equal versions and a single version are fully consistent."""
    same = encode(["Bread rises."] * 3)

    assert self_evaluation.compute_consistency(same, contradicted=contradicted) == pytest.approx(expected)
    assert (
        self_evaluation.compute_consistency(np.zeros((0, 0), dtype=np.float32), contradicted=contradicted) == expected
    )


def test_overall_score_is_the_mean() -> None:
    """Consistency, completeness and factuality count equally; a question without parts is complete."""
    found = self_evaluation.build_evaluation(0.9, ["wine"], 2, 1.0)

    assert (found.completeness, found.overall, found.missing) == (0.5, 0.8, ("wine",))
    assert self_evaluation.build_evaluation(1.0, [], 0, 1.0).overall == 1.0
