"""Tests of the edits of a draft by the numbers of its sentences."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.writing.edits import Addition, BlockAddition, DraftEdits, apply_edits, list_named_sentences
from tenure.contracts.evidence.passages import Block, Claim, Draft


def block(*texts: str, kind: str = "paragraph") -> Block:
    return Block.model_validate({"kind": kind, "claims": [{"text": text} for text in texts]})


def texts(draft: Draft) -> list[list[str]]:
    return [[claim.text for claim in block.claims] for block in draft.blocks]


DRAFT = Draft(blocks=(block("1", "2"), block("3", kind="bullets"), block("4")))
NUMBERS = st.integers(-2, 8)
NEW = st.text("abc", min_size=1, max_size=3).map(lambda text: Claim(text=text))


def test_sentences_are_replaced_deleted_and_added() -> None:
    """Each edit applies to the sentence with its number; a block without sentences goes."""
    edits = DraftEdits(
        replacements={1: Claim(text="one")},
        deletions={4},
        additions=[Addition(1, Claim(text="a")), Addition(1, Claim(text="b")), Addition(3, Claim(text="c"))],
    )

    assert texts(apply_edits(DRAFT, edits).draft) == [["one", "a", "b", "2"], ["3", "c"]]
    assert list_named_sentences(edits) == {1, 4}


def test_blocks_follow_the_block_of_a_sentence() -> None:
    """A new block does not divide a paragraph; 0 stands for the start."""
    edits = DraftEdits(
        blocks=[BlockAddition(1, block("x")), BlockAddition(0, block("y")), BlockAddition(2, block("z"))]
    )

    assert texts(apply_edits(DRAFT, edits).draft) == [["y"], ["1", "2"], ["x"], ["z"], ["3"], ["4"]]


def test_sentences_can_be_added_to_an_empty_draft() -> None:
    """Without sentences an addition at the start forms a paragraph."""
    edits = DraftEdits(additions=[Addition(0, Claim(text="a")), Addition(1, Claim(text="b"))])

    assert texts(apply_edits(Draft(), edits).draft) == [["a"]]
    assert apply_edits(Draft(), edits).refused == (1,)


def test_sentences_at_the_start_open_the_first_block() -> None:
    """A sentence before the first one belongs to its paragraph."""
    assert texts(apply_edits(DRAFT, DraftEdits(additions=[Addition(0, Claim(text="a"))])).draft)[0] == ["a", "1", "2"]


def test_a_block_of_another_form_takes_no_sentence() -> None:
    """Sentences that are added inside a block that is no running text form paragraphs around it."""
    table = DRAFT.blocks[0].model_copy(update={"kind": "table"})
    edits = DraftEdits(additions=[Addition(0, Claim(text="a")), Addition(1, Claim(text="b"))])

    assert texts(apply_edits(Draft(blocks=(table,)), edits).draft) == [["a"], ["1", "2"], ["b"]]


def test_a_replaced_sentence_is_not_deleted() -> None:
    """Of two edits of one sentence the one that keeps a sentence counts."""
    edits = DraftEdits(replacements={1: Claim(text="one")}, deletions={1})

    assert texts(apply_edits(DRAFT, edits).draft)[0] == ["one", "2"]


@given(
    st.lists(st.lists(st.integers(), min_size=1, max_size=3), max_size=4),
    st.dictionaries(NUMBERS, NEW, max_size=4),
    st.sets(NUMBERS, max_size=4),
    st.lists(st.builds(Addition, NUMBERS, NEW), max_size=4),
    st.lists(st.builds(BlockAddition, NUMBERS, NEW.map(lambda claim: Block(claims=(claim,)))), max_size=3),
)
@settings(deadline=None)
def test_no_unnamed_sentence_is_lost(
    shape: list[list[int]],
    replacements: dict[int, Claim],
    deletions: set[int],
    additions: list[Addition],
    blocks: list[BlockAddition],
) -> None:
    """For any draft and edits, unnamed sentences stay in order, and numbers without a sentence are refused."""
    names = iter(range(1, 100))
    draft = Draft(blocks=tuple(block(*(f"old {next(names)}" for _ in part)) for part in shape))
    count = len(draft.claims)
    edits = DraftEdits(replacements, deletions, additions, blocks)
    edited, refused = apply_edits(draft, edits)

    unnamed = [f"old {n}" for n in range(1, count + 1) if n not in {*replacements, *deletions}]
    assert [claim.text for claim in edited.claims if claim.text.startswith("old")] == unnamed
    new = [
        *(claim.text for n, claim in replacements.items() if 1 <= n <= count),
        *(one.claim.text for one in additions if 0 <= one.after <= count),
        *(claim.text for one in blocks if 0 <= one.after <= count for claim in one.block.claims),
    ]
    assert sorted(claim.text for claim in edited.claims if not claim.text.startswith("old")) == sorted(new)
    named = {*replacements, *deletions}
    anchors = {*(one.after for one in additions), *(one.after for one in blocks)}
    assert set(refused) == {n for n in named if not 1 <= n <= count} | {n for n in anchors if not 0 <= n <= count}
