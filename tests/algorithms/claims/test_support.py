"""The offline judgement of claims."""

import pytest

from tenure.algorithms.claims.support import WEIGHTS, Evidenced, Judgement, judged, measures, support
from tests.worlds import encode

RISE = "The dough of the bread has to rise for two hours in a warm kitchen."


def judge(claim: str, *evidence: str, title: str = "Bread") -> Judgement:
    (found,) = judged([Evidenced(claim, evidence, title)], encode)
    return found


def test_a_claim_in_the_words_of_its_source_is_supported() -> None:
    """Words, numbers and direction agree."""
    found = judge("The bread dough has to rise for two hours.", RISE)

    assert found.verdict == "supported" and found.confidence == found.support > 0.6


def test_a_claim_on_something_else_is_neutral() -> None:
    """What the source does not speak of is not refuted by it."""
    found = judge("Volcanoes cool the climate for years.", RISE)

    assert found.verdict == "neutral" and found.confidence == 1 - found.support > 0.6


def test_the_contrary_of_the_source_is_refuted() -> None:
    """The same words in the opposite direction speak against the claim."""
    source = "Salt increases the blood pressure of patients."

    assert judge("Salt decreases the blood pressure of patients.", source).verdict == "refuted"


def test_another_number_lowers_the_support() -> None:
    """A number that the source does not have counts against the claim, one that it has for it."""
    right, wrong = (judge(f"The bread dough has to rise for {n} hours.", RISE) for n in ("two", "nine"))

    assert right.support > wrong.support


def test_a_source_without_a_title_is_judged_by_its_words() -> None:
    """The subject is left out where nobody knows it."""
    assert judge("The dough rises for two hours.", RISE, title="").verdict in ("supported", "neutral")


def test_there_is_one_weight_for_each_measure() -> None:
    """The fitted weights and the measures name the same things, and nothing asked gives nothing."""
    (found,) = measures([Evidenced("Bread rises.", (RISE,))], encode)

    assert found.keys() == WEIGHTS.keys()
    assert 0 < support(found) < 1
    assert judged([], encode) == []


@pytest.mark.parametrize("claim", ["…", "of the"])
def test_a_claim_without_a_content_word_is_judged_all_the_same(claim: str) -> None:
    """Nothing to align is no error."""
    assert 0 <= judge(claim, "…").support <= 1


def test_a_claim_without_evidence_is_neutral() -> None:
    """Nothing bears out what nothing is said on."""
    assert judge("The dough rises for two hours.").verdict == "neutral"
