"""The claim checker's twin, and what becomes of a checker's verdicts."""

import pytest

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import Citation, Claim
from tenure.roles.base import Evidence
from tenure.roles.claims.claim_checker import ClaimCheckerInput, ClaimCheckerOutput, ClaimVerdict, checked, offline
from tests.passages import passage
from tests.roles.cases import EVIDENCE, MADE, RISES, quoted
from tests.worlds import encode


def claim(text: str, *citations: Citation) -> Claim:
    return Claim(text=text, citations=citations or (quoted(0, RISES),))


def check(*claims: Claim) -> tuple[Claim, ...]:
    return checked(
        claims, offline(ClaimCheckerInput(question="How is bread made?", claims=claims), EVIDENCE), EVIDENCE.passages
    )


def test_the_twin_tells_what_holds_from_what_does_not() -> None:
    """A claim in other order of the source's words is supported, one about something else is not."""
    good, bad = check(claim("For two hours the bread's dough has to rise."), claim("Volcanoes cool the whole climate."))

    assert good.status == "supported" and bad.status == "neutral"
    assert good.confidence is not None and bad.confidence is not None


def test_the_twin_leaves_other_languages_open() -> None:
    """A claim that the twin cannot read is neither believed nor taken for wrong."""
    (found,) = check(claim("Der Teig ruht zwei Stunden in der Küche."))

    assert (found.status, found.confidence) == ("neutral", 0.0)


def test_the_twin_need_not_read_what_is_verbatim() -> None:
    """Words of the source itself are borne out, also in a sentence that is not plainly English."""
    text = "Warm dough rises quickly."
    quote = Citation(source=SourceId("s"), chunk=ChunkId("c"), start=0, end=len(text), quote=text)
    said = ClaimCheckerInput(question="Bread?", claims=(Claim(text=text, citations=(quote,)),))
    (found,) = offline(said, Evidence(passages=(passage(text, "c"),), encode=encode)).verdicts

    assert found.verdict == "supported"


def test_the_sentences_beside_a_quote_are_read_too() -> None:
    """A claim may rest on more of its passage than the words that were quoted."""
    text = "Bread is made from flour, water, salt and yeast."

    assert check(claim(text, quoted(0, RISES)))[0].status == "supported"


@pytest.mark.parametrize("text", ["The dough rises for three hours.", "The dough rises for two hours in Rome."])
def test_a_model_cannot_vouch_for_particulars(text: str) -> None:
    """A number or name that the cited passage does not have is not supported, whatever the model says."""
    said = ClaimCheckerOutput(verdicts=(ClaimVerdict(claim=1, verdict="supported", confidence=1.0),))

    (found,) = checked([claim(text)], said, EVIDENCE.passages)

    assert (found.status, found.confidence) == ("neutral", 1.0)


def test_claims_without_a_verdict_stay_open() -> None:
    """A claim that the model passed over counts as not confirmed; a verdict on no claim counts for nothing."""
    said = ClaimCheckerOutput(
        verdicts=(
            ClaimVerdict(claim=1, verdict="refuted", confidence=0.7),
            ClaimVerdict(claim=9, verdict="supported", confidence=1.0),
        )
    )

    first, second = checked([claim(MADE), claim(RISES)], said, EVIDENCE.passages)

    assert (first.status, first.confidence) == ("refuted", 0.7)
    assert (second.status, second.confidence) == ("neutral", 0.0)
