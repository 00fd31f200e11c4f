"""Tests of claim verification without a model."""

import pytest

from tenure.algorithms.claims.support import (
    FEATURE_WEIGHTS,
    ClaimJudgement,
    ClaimWithEvidence,
    compute_features,
    estimate_support,
    judge_claims,
)
from tests.support.worlds import encode

RISE = "The dough of the bread has to rise for two hours in a warm kitchen."


def judge(claim: str, *evidence: str, title: str = "Bread") -> ClaimJudgement:
    (found,) = judge_claims([ClaimWithEvidence(claim, evidence, title)], encode)
    return found


def test_claim_in_source_words_is_supported() -> None:
    """Words, numbers and polarity agree."""
    found = judge("The bread dough has to rise for two hours.", RISE)

    assert found.verdict == "supported" and found.confidence == found.support > 0.6


def test_unrelated_claim_is_neutral() -> None:
    """A source does not refute a claim on another subject."""
    found = judge("Volcanoes cool the climate for years.", RISE)

    assert found.verdict == "neutral" and found.confidence == 1 - found.support > 0.6


def test_opposite_claim_is_refuted() -> None:
    """The same words with opposite polarity refute the claim."""
    source = "Salt increases the blood pressure of patients."

    assert judge("Salt decreases the blood pressure of patients.", source).verdict == "refuted"


def test_missing_number_lowers_the_support() -> None:
    """A number that the source lacks lowers the support, a matching number raises it."""
    right, wrong = (judge(f"The bread dough has to rise for {n} hours.", RISE) for n in ("two", "nine"))

    assert right.support > wrong.support


def test_source_without_title_is_supported() -> None:
    """Without a title no subject is removed."""
    assert judge("The dough rises for two hours.", RISE, title="").verdict in ("supported", "neutral")


def test_each_feature_has_a_weight() -> None:
    """The fitted weights and the features have the same names, and no cases have no judgements."""
    (found,) = compute_features([ClaimWithEvidence("Bread rises.", (RISE,))], encode)

    assert found.keys() == FEATURE_WEIGHTS.keys()
    assert 0 < estimate_support(found) < 1
    assert judge_claims([], encode) == []


@pytest.mark.parametrize("claim", ["…", "of the"])
def test_claim_without_content_words_is_judged(claim: str) -> None:
    """A claim without words to align raises no exception."""
    assert 0 <= judge(claim, "…").support <= 1


def test_claim_without_evidence_is_neutral() -> None:
    """No evidence does not support a claim."""
    assert judge("The dough rises for two hours.").verdict == "neutral"
