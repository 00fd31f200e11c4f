"""Tests of removed claims and the text around them."""

from tenure.algorithms.claims.removal import remove_claims
from tenure.contracts.evidence.passages import Block, Claim, ClaimKind, Draft


def block(*texts: str, kind: str = "paragraph") -> Block:
    return Block.model_validate({"kind": kind, "claims": [_claim(text) for text in texts]})


def _claim(text: str) -> Claim:
    kind: ClaimKind = "lead_in" if text.endswith(":") else "fact"
    return Claim(text=text, kind=kind)


def texts(*drafts: Draft) -> list[list[str]]:
    return [[claim.text for claim in block.claims] for draft in drafts for block in draft.blocks]


def test_the_next_sentence_loses_its_connective() -> None:
    """A sentence that followed a removed one starts without "However"; others are unchanged."""
    draft = Draft(blocks=(block("One.", "Two.", "However, three is more.", "However, four stays."),))

    assert texts(*remove_claims([draft], {1})) == [["One.", "Three is more.", "However, four stays."]]


def test_bullets_keep_their_text() -> None:
    """Items of a list do not depend on each other."""
    draft = Draft(blocks=(block("One.", "However, two.", kind="bullets"),))

    assert texts(*remove_claims([draft], {0})) == [["However, two."]]


def test_a_lead_in_goes_with_its_sentences() -> None:
    """A lead-in to nothing is removed, in its own block and before a list; with a sentence left it stays."""
    own = Draft(blocks=(block("All:", "One.", "Two."),))
    before_list = Draft(blocks=(block("Zero.", "Some:"), block("One.", kind="bullets"), block("Two.")))

    assert texts(*remove_claims([own], {1, 2})) == []
    assert texts(*remove_claims([own], {1})) == [["All:", "Two."]]
    assert texts(*remove_claims([before_list], {2})) == [["Zero."], ["Two."]]
    assert texts(*remove_claims([before_list], {0})) == [["Some:"], ["One."], ["Two."]]


def test_a_single_remaining_sentence_joins_the_paragraph_before() -> None:
    """A paragraph that shrinks to one sentence joins a paragraph of the same form, but no list."""
    draft = Draft(blocks=(block("One."), block("Two.", "Three."), block("Four.", kind="bullets"), block("5.", "6.")))

    assert texts(*remove_claims([draft], {2, 5})) == [["One.", "Two."], ["Four."], ["5."]]


def test_indexes_count_through_all_drafts() -> None:
    """Drafts without a removed claim are unchanged."""
    first, second = Draft(blocks=(block("One."),)), Draft(blocks=(block("Two."), block("Three.")))

    assert remove_claims([first, second], ()) == (first, second)
    assert remove_claims([first, second], {1})[0] is first
    assert texts(*remove_claims([first, second], {1})) == [["One."], ["Three."]]
