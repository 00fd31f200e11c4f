"""Tests of the fact extractor's fallback and of facts that the passages do not contain."""

from tenure.roles.base import Evidence
from tenure.roles.claims.fact_extractor import (
    ExtractedFact,
    FactExtractorInput,
    FactExtractorOutput,
    build_draft,
)
from tests.support.passages import passage

RISES = "The dough of the bread rises for two hours in the warm kitchen."
PASSAGES = (passage(RISES), passage("The oven of the bakery is heated to 250 degrees.", start=90))


def test_facts_have_quotes() -> None:
    """A fact in a passage's own words is supported, and cites it."""
    draft = build_draft(
        FactExtractorInput(question="How?"),
        FactExtractorOutput(facts=(ExtractedFact(passage=1, text=f" {RISES} "),)),
        Evidence(PASSAGES),
    )

    assert [(claim.text, claim.status) for claim in draft.claims] == [(RISES, "supported")]


def test_unsourced_facts_are_dropped() -> None:
    """A fact with a number that the passage lacks, or without a valid passage, is dropped."""
    invented = (
        ExtractedFact(passage=1, text="The dough of the bread rises for nine hours."),
        ExtractedFact(passage=7, text=RISES),
    )

    assert (
        build_draft(FactExtractorInput(question="How?"), FactExtractorOutput(facts=invented), Evidence(PASSAGES)).blocks
        == ()
    )
