"""What is checked of a text, and what becomes of claims that do not hold."""

from tenure.algorithms.claims import verification
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import Block, Citation, Claim, ClaimStatus, Draft
from tests.passages import passage


def claim(text: str, status: ClaimStatus = "unverified", confidence: float | None = None, cites: bool = True) -> Claim:
    quote = Citation(source=SourceId("bread"), chunk=ChunkId("bread:0"), start=0, end=5, quote="Bread")
    return Claim(text=text, status=status, confidence=confidence, citations=(quote,) if cites else ())


def draft(*claims: Claim) -> Draft:
    return Draft(blocks=tuple(Block(claims=(one,)) for one in claims))


TEXTS = (
    draft(claim("a", "supported"), claim("b"), claim("c", "missing_citation", cites=False)),
    draft(claim("d"), claim("e", "refuted")),
)


def test_positions_count_through_all_texts() -> None:
    """Unchecked claims cite something and were not judged; unsupported ones are all that are not supported."""
    assert verification.unchecked(TEXTS) == [1, 3]
    assert verification.unsupported(TEXTS) == [1, 2, 3, 4]


def test_batches_are_bounded() -> None:
    """Many claims are checked with several calls."""
    assert [len(batch) for batch in verification.batches(range(90))] == [40, 40, 10]


def test_claims_are_replaced_and_taken_out() -> None:
    """A claim gives way to another, or to nothing together with its empty block; the others stay."""
    first, second = verification.replaced(TEXTS, {1: claim("B"), 3: None})

    assert [one.text for one in first.claims] == ["a", "B", "c"]
    assert [one.text for one in second.claims] == ["e"] and len(second.blocks) == 1


def test_cited_passages_come_once() -> None:
    """References are made of the citations; one whose passage nobody knows has none."""
    strange = Claim(text="x", citations=(Citation(source=SourceId("bread"), start=0, end=1, quote="B"),))

    assert [ref.chunk for ref in verification.cited([claim("a"), claim("b"), strange])] == ["bread:0"]


def test_particulars_of_a_supported_claim_have_to_be_in_its_source() -> None:
    """Whatever a judge said, a number or name of the claim's own leaves it unsupported for sure; headings count."""
    source = passage("Bread rises for two hours.", headings=("Rye",))
    kept = claim("It takes 2 hours, as with Rye.", "supported", 0.8)
    wrong = claim("It takes 3 hours.", "supported", 0.8)

    assert verification.held(kept, [source]) == kept
    assert verification.held(wrong, [source]) == wrong.model_copy(update={"status": "neutral", "confidence": 1.0})
    assert verification.held(claim("It takes 3 hours."), [source]).status == "unverified"


def test_what_does_not_hold_is_taken_out_or_marked() -> None:
    """Refuted, invented and surely unfounded claims go with a note each; the doubtful ones keep their status."""
    text = draft(
        claim("good", "supported"),
        claim("against", "refuted"),
        claim("invented", "invalid_source", cites=False),
        claim("unfounded", "neutral", 0.9),
        claim("doubtful", "neutral", 0.5),
        claim("open", "neutral"),
        claim("bare", "missing_citation", cites=False),
    )
    settled = verification.settled([text], "Bread")

    assert [one.text for one in settled.drafts[0].claims] == ["good", "doubtful", "open", "bare"]
    assert settled.notes == (
        "Bread: a claim was taken out, its source says otherwise: “against”",
        "Bread: a claim was taken out, its source does not exist: “invented”",
        "Bread: a claim was taken out, its source does not bear it out: “unfounded”",
    )


def test_what_was_checked_is_not_checked_again() -> None:
    """A new version of a text keeps what was found of the claims it took over."""
    before = draft(claim("a", "supported", 0.9))
    after = draft(claim("a"), claim("b"))

    assert [one.status for one in verification.carried(before, after).claims] == ["supported", "unverified"]


def test_factuality_is_the_share_of_supported_claims() -> None:
    """A text without claims is not untrue."""
    assert verification.factuality(TEXTS) == 0.2
    assert verification.factuality([Draft()]) == 1.0
