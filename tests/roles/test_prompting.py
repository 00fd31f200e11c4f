"""Tests of structured text: rendering, parsing and verbatim citations."""

from tenure.contracts.evidence.passages import Block, ClaimKind
from tenure.roles.prompting import (
    NOT_STATED,
    WrittenBlock,
    WrittenRow,
    WrittenSentence,
    cite_block,
    join_parts,
    render_list,
    render_reasoning,
)
from tests.roles.cases import EVIDENCE, MADE, REASONING, RISES

SAID = (WrittenSentence(text=MADE, passages=(1, 99)), WrittenSentence(text="Both take time.", passages=()))


def test_citations_are_added_to_written_text() -> None:
    """Every named passage becomes a verbatim citation; an invalid number does not."""
    ((first, second),) = (block.claims for block in cite(WrittenBlock(kind="paragraph", sentences=SAID)))

    assert (first.text, first.status, [c.quote for c in first.citations]) == (MADE, "supported", [MADE])
    assert (second.status, second.citations) == ("missing_citation", ())


def test_a_gap_may_repeat_figures_of_the_question() -> None:
    """A figure that neither the question nor a passage has is a fact, which needs a passage."""
    gaps = tuple(WrittenSentence(text=f"Whether {n} loaves fit [?]", passages=(), kind="gap") for n in (64, 65))
    (block,) = cite_block(WrittenBlock(kind="bullets", sentences=gaps), EVIDENCE.passages, "Do 64 loaves fit?")

    assert [(claim.kind, claim.status) for claim in block.claims] == [
        ("gap", "unverified"),
        ("fact", "missing_citation"),
    ]


def cite(block: WrittenBlock) -> tuple[Block, ...]:
    return cite_block(block, EVIDENCE.passages, "")


def word(text: str, *passages: int, kind: ClaimKind = "fact") -> WrittenSentence:
    return WrittenSentence(text=text, passages=passages, kind=kind)


def test_a_table_has_one_claim_for_each_cell() -> None:
    """Cells name row and column; a missing one is a gap, and one beyond the columns belongs to the last."""
    rows = (
        WrittenRow(label=" Bread ", cells=(word("flour", 1),)),
        WrittenRow(label="Cheese", cells=(word("milk", 2), word("years", 2), word("or weeks", 2))),
    )
    (block,) = cite(WrittenBlock(kind="table", heading="Food", columns=("Made of", ""), rows=rows))

    assert (block.kind, block.heading) == ("table", "Food")
    assert [(c.label, c.column, c.text, c.kind) for c in block.claims] == [
        ("Bread", "Made of", "flour", "fact"),
        ("Bread", "2", NOT_STATED, "gap"),
        ("Cheese", "Made of", "milk", "fact"),
        ("Cheese", "2", "years", "fact"),
        ("Cheese", "2", "or weeks", "fact"),
    ]
    assert [len(claim.citations) for claim in block.claims] == [1, 0, 1, 1, 1]


def test_code_that_no_passage_has_is_an_inference() -> None:
    """Code is shown as code; without a mark it is a sentence that lacks its citation."""
    said = (word("made from flour", 1), word("bake(now)", 1), word("bake(now)"))
    quoted, composed, invented = cite(WrittenBlock(kind="code", sentences=said))

    assert (quoted.kind, quoted.claims[0].status) == ("code", "supported")
    assert (composed.kind, composed.claims[0].kind, composed.claims[0].status) == ("code", "inference", "unverified")
    assert (invented.kind, invented.claims[0].status) == ("paragraph", "missing_citation")


def test_steps_of_reasoning_have_the_numbers_of_their_passages() -> None:
    """A step whose passage is not shown, and a step that follows from others, have no number."""
    assert render_reasoning(REASONING, EVIDENCE.passages) == (
        f"1. (premise) {RISES} [1]\nConclusion: So wait.\nConfidence: 80%"
    )
    without = REASONING.model_copy(update={"conclusion": None})
    assert render_reasoning(without, ()) == f"1. (premise) {RISES}\nConfidence: 80%"
    assert render_reasoning(None, EVIDENCE.passages) == ""


def test_a_list_without_items_is_empty() -> None:
    """A title without items is omitted."""
    assert render_list("Wished", ["rye", "wheat"]) == "Wished:\n- rye\n- wheat"
    assert render_list("Wished", []) == ""


def test_empty_parts_are_not_joined() -> None:
    """Empty parts leave no gap."""
    assert join_parts("a", "", "b") == "a\n\nb"
