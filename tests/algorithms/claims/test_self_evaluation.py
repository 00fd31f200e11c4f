"""Tests of self-evaluation."""

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

    answered, unanswered = (self_evaluation.score_component(part, SECTIONS, encode) for part in asked)

    assert answered >= self_evaluation.MIN_ANSWER_SCORE > unanswered
    assert self_evaluation.score_component(asked[1], renamed, encode) < self_evaluation.MIN_ANSWER_SCORE
    assert self_evaluation.score_component("What is it?", SECTIONS, encode) == 0.0
    assert self_evaluation.score_component(asked[0], (), encode) == 0.0


def test_probabilities_rise_with_the_score() -> None:
    """A component at the midpoint is as likely answered as not; without content it is hardly ever answered."""
    assert self_evaluation.estimate_answered(self_evaluation.ANSWERED_MIDPOINT) == 0.5
    assert self_evaluation.estimate_answered(0.0) < 0.1
    assert 0.5 < self_evaluation.estimate_answered(3.0) < self_evaluation.estimate_answered(4.0) <= 1.0


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
    """Equal versions are fully consistent; a single version cannot be compared."""
    same = encode(["Bread rises."] * 3)

    assert self_evaluation.compute_consistency(same, contradicted=contradicted) == pytest.approx(expected)
    assert self_evaluation.compute_consistency(same[:1], contradicted=contradicted) is None


def test_overall_score_is_the_mean() -> None:
    """The given scores count equally; a score that cannot be given does not count."""
    found = self_evaluation.build_evaluation(0.9, self_evaluation.compute_completeness([1.0, 0.0]), 1.0, ["wine"])

    assert (found.completeness, found.overall, found.missing) == (0.5, 0.8, ("wine",))
    assert self_evaluation.compute_completeness([]) is None
    assert self_evaluation.build_evaluation(None, None, 0.5, []).overall == 0.5
    assert self_evaluation.build_evaluation(None, None, None, []).overall == 0.0
