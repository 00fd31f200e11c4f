"""Repeated sentences go at their second place."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.repetition import without_repeats
from tenure.algorithms.text import fingerprint
from tenure.contracts.evidence import Block, Claim, Draft

SENTENCES = st.sampled_from(["Bread is old.", "bread IS old!", "Cheese is older.", "Milk is white.", "Rye is dark."])
BLOCKS = st.builds(
    lambda kind, texts: Block(kind=kind, claims=tuple(Claim(text=text) for text in texts)),
    st.sampled_from(["paragraph", "bullets"]),
    st.lists(SENTENCES, min_size=1, max_size=4),
)
DRAFTS = st.lists(st.builds(lambda blocks: Draft(blocks=tuple(blocks)), st.lists(BLOCKS, max_size=3)), max_size=4)


@given(DRAFTS)
@settings(deadline=None)
def test_each_sentence_stays_once_where_it_stood_first(drafts: list[Draft]) -> None:
    """No fingerprint is left twice, none is lost, and the order of reading is kept."""
    cleaned = without_repeats(drafts)

    before = [claim for draft in drafts for claim in draft.claims]
    after = [claim for draft in cleaned for claim in draft.claims]
    first = {fingerprint(claim.text): claim for claim in reversed(before)}
    order = list(dict.fromkeys(fingerprint(claim.text) for claim in before))
    assert after == [first[mark] for mark in order]
    assert len(cleaned) == len(drafts)
    assert all(block.claims for draft in cleaned for block in draft.blocks)


def test_a_block_keeps_its_kind_and_an_empty_one_goes() -> None:
    """What is left of a list is a list; a block whose sentences all stood before is dropped."""
    once = Draft(blocks=(Block(claims=(Claim(text="Bread is old."),)),))
    again = Draft(
        blocks=(
            Block(claims=(Claim(text="Bread is old."),)),
            Block(kind="bullets", claims=(Claim(text="Bread is old."), Claim(text="Rye is dark."))),
        )
    )

    assert without_repeats([once, again])[1] == Draft(
        blocks=(Block(kind="bullets", claims=(Claim(text="Rye is dark."),)),)
    )
