"""The fact extractor: its twin, and what becomes of facts that passages do not have."""

from tenure.roles.base import Evidence
from tenure.roles.claims.fact_extractor import (
    ExtractedFact,
    FactExtractorInput,
    FactExtractorOutput,
    extracted,
    offline,
)
from tests.passages import passage
from tests.worlds import encode

RISES = "The dough of the bread rises for two hours in the warm kitchen."
PASSAGES = (passage(RISES), passage("The oven of the bakery is heated to 250 degrees.", start=90))


def test_the_twin_takes_sentences_as_they_stand() -> None:
    """A fact is a sentence of a passage, with the passage's number."""
    asked = FactExtractorInput(question="How long does the dough rise?", kind="figures")
    (first, *_) = offline(asked, Evidence(PASSAGES, encode)).facts

    assert first == ExtractedFact(passage=1, text=RISES)


def test_facts_carry_their_quotes() -> None:
    """A fact in a passage's own words is supported, and cites it."""
    draft = extracted(FactExtractorOutput(facts=(ExtractedFact(passage=1, text=f" {RISES} "),)), PASSAGES)

    assert [(claim.text, claim.status) for claim in draft.claims] == [(RISES, "supported")]


def test_what_no_passage_says_is_no_fact() -> None:
    """A number that the passage lacks, and a passage that does not exist, are left out."""
    invented = (
        ExtractedFact(passage=1, text="The dough of the bread rises for nine hours."),
        ExtractedFact(passage=7, text=RISES),
    )

    assert extracted(FactExtractorOutput(facts=invented), PASSAGES).blocks == ()
