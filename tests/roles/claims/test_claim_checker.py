"""Tests of the claim checker's fallback and of the use of its verdicts."""

import pytest

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import Citation, Claim
from tenure.roles.base import Evidence
from tenure.roles.claims.claim_checker import (
    ClaimCheckerInput,
    ClaimCheckerOutput,
    ClaimVerdict,
    apply_verdicts,
    fallback,
    render,
)
from tests.roles.cases import EVIDENCE, MADE, RISES, quoted
from tests.support.passages import passage
from tests.support.worlds import encode


def claim(text: str, *citations: Citation) -> Claim:
    return Claim(text=text, citations=citations or (quoted(0, RISES),))


def check(*claims: Claim) -> tuple[Claim, ...]:
    return judge(fallback(given(*claims), EVIDENCE), *claims)


def judge(output: ClaimCheckerOutput, *claims: Claim) -> tuple[Claim, ...]:
    return tuple(claim for claim in apply_verdicts(given(*claims), output, EVIDENCE).claims if claim)


def given(*claims: Claim) -> ClaimCheckerInput:
    return ClaimCheckerInput(question="How is bread made?", claims=claims)


def test_the_fallback_distinguishes_supported_claims() -> None:
    """A claim with the source's words in another order is supported, a claim about something else is not."""
    good, bad = check(claim("For two hours the bread's dough has to rise."), claim("Volcanoes cool the whole climate."))

    assert good.status == "supported" and bad.status == "neutral"
    assert good.confidence is not None and bad.confidence is not None


def test_other_languages_are_neutral() -> None:
    """The fallback judges a claim in another language as neutral."""
    (found,) = check(claim("Der Teig ruht zwei Stunden in der Küche."))

    assert (found.status, found.confidence) == ("neutral", 0.0)


def test_verbatim_claims_are_supported() -> None:
    """Verbatim words of the source are supported, also in a sentence that is not clearly English."""
    text = "Warm dough rises quickly."
    quote = Citation(source=SourceId("s"), chunk=ChunkId("c"), start=0, end=len(text), quote=text)
    said = ClaimCheckerInput(question="Bread?", claims=(Claim(text=text, citations=(quote,)),))
    (found,) = fallback(said, Evidence(passages=(passage(text, "c"),), encode=encode)).verdicts

    assert found.verdict == "supported"


def test_sentences_near_the_quote_count() -> None:
    """A claim may be supported by sentences of its passage outside the quote."""
    text = "Bread is made from flour, water, salt and yeast."

    assert check(claim(text, quoted(0, RISES)))[0].status == "supported"


@pytest.mark.parametrize("text", ["The dough rises for three hours.", "The dough rises for two hours in Rome."])
def test_unsourced_details_are_never_supported(text: str) -> None:
    """A number or name that the cited passage lacks is not supported, whatever the model's verdict."""
    said = ClaimCheckerOutput(verdicts=(ClaimVerdict(claim=1, verdict="supported", confidence=1.0),))

    (found,) = judge(said, claim(text))

    assert (found.status, found.confidence) == ("neutral", 1.0)


def test_claims_without_a_verdict_are_neutral() -> None:
    """A claim that the model omitted counts as not confirmed; a verdict on no claim is ignored."""
    said = ClaimCheckerOutput(
        verdicts=(
            ClaimVerdict(claim=1, verdict="refuted", confidence=0.7),
            ClaimVerdict(claim=9, verdict="supported", confidence=1.0),
        )
    )

    first, second = judge(said, claim(MADE), claim(RISES))

    assert (first.status, first.confidence) == ("refuted", 0.7)
    assert (second.status, second.confidence) == ("neutral", 0.0)


def test_a_cell_is_checked_with_its_row_and_column() -> None:
    """The words of a cell alone say nothing; its row and column complete them in the prompt."""
    cell = claim("two hours").model_copy(update={"label": "Rye", "column": "Rest"})

    assert "1. Rye – Rest: two hours (cites passage 1)" in render(given(cell), EVIDENCE)[1].content
