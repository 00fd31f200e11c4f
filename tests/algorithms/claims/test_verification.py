"""Tests of applying verdicts to claims."""

from dataclasses import replace

import pytest

from tenure.algorithms.claims import verification
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import Block, Citation, Claim, ClaimKind, ClaimStatus, Draft
from tests.support.passages import passage


def claim(text: str, status: ClaimStatus = "unverified", confidence: float | None = None, cites: bool = True) -> Claim:
    quote = Citation(source=SourceId("bread"), chunk=ChunkId("bread:0"), start=0, end=5, quote="Bread")
    return Claim(text=text, status=status, confidence=confidence, citations=(quote,) if cites else ())


def draft(*claims: Claim) -> Draft:
    return Draft(blocks=tuple(Block(claims=(one,)) for one in claims))


TEXTS = (
    draft(claim("a", "supported"), claim("b"), claim("c", "missing_citation", cites=False)),
    draft(claim("d"), claim("e", "refuted")),
)


def test_indexes_count_through_all_drafts() -> None:
    """Unchecked claims have citations and no verdict; uncited claims need passages and have none."""
    assert verification.find_unchecked_claims(TEXTS) == [1, 3]
    assert verification.find_uncited_claims(TEXTS) == [2]


def test_gaps_and_lead_ins_are_not_checked() -> None:
    """Facts and inferences are compared with passages; others only with a citation."""
    kinds: tuple[ClaimKind, ...] = ("fact", "inference", "gap", "lead_in")
    cited = draft(*(claim(kind).model_copy(update={"kind": kind}) for kind in kinds))
    text = draft(*cited.claims[:2], *(one.model_copy(update={"citations": ()}) for one in cited.claims[2:]))

    assert verification.find_unchecked_claims([text]) == [0, 1]
    assert verification.find_unchecked_claims([cited]) == [0, 1, 2, 3]


def test_batches_are_bounded() -> None:
    """Many claims are split into several calls."""
    assert [len(batch) for batch in verification.split_batches(range(90))] == [40, 40, 10]


def test_claims_are_replaced_and_removed() -> None:
    """A claim is replaced, or removed with its empty block; the others stay."""
    first, second = verification.replace_claims(TEXTS, {1: claim("B"), 3: None})

    assert [one.text for one in first.claims] == ["a", "B", "c"]
    assert [one.text for one in second.claims] == ["e"] and len(second.blocks) == 1


def test_cited_passages_are_listed_once() -> None:
    """References follow the citations; a citation without a chunk has none."""
    strange = Claim(text="x", citations=(Citation(source=SourceId("bread"), start=0, end=1, quote="B"),))

    assert [ref.chunk for ref in verification.list_cited_passages([claim("a"), claim("b"), strange])] == ["bread:0"]


def test_claim_with_conflicting_details_is_demoted() -> None:
    """A measure or name without a source makes a supported claim neutral; headings count as source."""
    source = passage("Bread rises for two hours.", headings=("Rye",))
    kept = claim("It takes 2 hours, as with Rye.", "supported", 0.8)
    wrong = claim("It takes 3 hours.", "supported", 0.8)

    assert verification.demote_unsourced_claim(kept, [source], "") == kept
    assert verification.demote_unsourced_claim(wrong, [source], "") == wrong.model_copy(
        update={"status": "neutral", "confidence": 1.0}
    )
    assert verification.demote_unsourced_claim(claim("It takes 3 hours."), [source], "").status == "unverified"
    assert verification.demote_unsourced_claim(wrong, [source], "How does bread rise in 3 hours?") == wrong


def test_a_version_may_stand_in_the_name_of_the_file() -> None:
    """Release notes often name their version in the name of their file only."""
    notes = replace(passage("Ovens are lit sooner."), uri="/notes/Release-notes-for-1.7.0.md")

    assert verification.list_conflicts(claim("Since 1.7.0 ovens are lit sooner."), [notes], "") == ()
    assert verification.list_conflicts(claim("Since 1.8.0 ovens are lit sooner."), [notes], "") == ("1.8.0",)


def test_an_inference_may_use_all_passages() -> None:
    """The numbers of a conclusion may come from any passage that its author has read; those of a fact may not."""
    read = [passage("Bread rises."), passage("Cheese ripens for 45 days.", "cheese")]
    fact = claim("Cheese takes 45 days, bread less.", "supported", 0.9)
    inference = fact.model_copy(update={"kind": "inference"})

    assert verification.demote_unsourced_claim(fact, read, "").status == "neutral"
    assert verification.demote_unsourced_claim(inference, read, "") == inference


def test_the_name_of_a_column_needs_no_source() -> None:
    """A cell is compared with its sources by its row and its text; only figures of its column must have been read."""
    read = [passage("The flood of January closed Weir Lane."), passage("All figures are of 2024.", "second")]
    cell = claim("Flood of January").model_copy(update={"label": "Weir Lane", "column": "Main Reason in 2024"})

    assert verification.list_conflicts(cell, read, "") == ()
    assert verification.list_conflicts(cell.model_copy(update={"text": "Flood of March"}), read, "") == ("March",)
    assert verification.list_conflicts(cell, read[:1], "") == ("2024",)


@pytest.mark.parametrize(
    ("text", "conflicts"),
    [
        ("A full mesh of 46 servers needs 46 × 45 / 2 = 1,035 lines.", ()),
        ("A full mesh of 46 servers needs 46 × 45 / 2 = 1,045 lines.", ("1045",)),
        ("A full mesh needs 46 + = 1,035 lines.", ("1035",)),
    ],
)
def test_the_result_of_a_right_calculation_is_no_invention(text: str, conflicts: tuple[str, ...]) -> None:
    """A number that the claim computes from numbers of its sources needs no source of its own."""
    read = [passage("It has 46 servers."), passage("Each has 45 neighbours.", "second")]
    cited = claim(text).model_copy(update={"kind": "inference"})

    assert verification.list_conflicts(cited, read, "") == conflicts


def test_unsupported_claims_are_removed_or_marked() -> None:
    """Refuted, invented and clearly unsupported claims are removed with a note; doubtful ones keep their status."""
    text = draft(
        claim("good", "supported"),
        claim("against", "refuted"),
        claim("invented", "invalid_source", cites=False),
        claim("unfounded", "neutral", 0.9),
        claim("doubtful", "neutral", 0.5),
        claim("open", "neutral"),
        claim("bare", "missing_citation", cites=False),
    )
    settled = verification.remove_unsupported_claims([text], "Bread")

    assert [one.text for one in settled.drafts[0].claims] == ["good", "doubtful", "open", "bare"]
    assert settled.removals == (
        "Bread: a claim was removed, its source contradicts it: “against”",
        "Bread: a claim was removed, its source does not exist: “invented”",
        "Bread: a claim was removed, its source does not support it: “unfounded”",
    )


def test_a_replacement_keeps_the_place_of_a_claim() -> None:
    """A corrected cell stays in its row and column, and a corrected inference is one."""
    cell = Claim(text="A", label="row", column="column", kind="inference")
    before = Draft(blocks=(Block(kind="table", claims=(cell,)),))

    (after,) = verification.replace_claims([before], {0: Claim(text="B")})[0].claims
    (gap,) = verification.replace_claims([before], {0: Claim(text="B", kind="gap")})[0].claims

    assert (after.text, after.label, after.column, after.kind) == ("B", "row", "column", "inference")
    assert gap.kind == "gap"


def test_gaps_and_lead_ins_need_no_support() -> None:
    """A gap without a citation and a lead-in are not checked."""
    gap = Claim(text="Not said.", kind="gap")
    draft = Draft(blocks=(Block(claims=(gap, Claim(text="So:", kind="lead_in"), Claim(text="A fact."))),))

    assert [verification.needs_sources(claim) for claim in draft.claims] == [False, False, True]
