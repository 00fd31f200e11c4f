"""Tests of structured text: rendering, parsing and verbatim citations."""

from tenure.contracts.evidence.passages import Block, ClaimKind
from tenure.roles.prompting import (
    CITING_RULE,
    NOT_STATED,
    WrittenBlock,
    WrittenRow,
    WrittenSentence,
    WrittenText,
    add_citations,
    join_parts,
    render_list,
    render_reasoning,
)
from tests.roles.cases import EVIDENCE, MADE, REASONING, RIPENS, RISES


def test_citations_are_added_to_written_text() -> None:
    """Every named passage becomes a verbatim citation; an invalid number does not."""
    text = WrittenText(
        blocks=(
            WrittenBlock(
                kind="paragraph",
                sentences=(
                    WrittenSentence(text=f" {MADE} ", passages=(1, 99)),
                    WrittenSentence(text="Both take time.", passages=()),
                ),
            ),
        )
    )

    first, second = add_citations(None, text, EVIDENCE).claims

    assert (first.text, first.status, [c.quote for c in first.citations]) == (MADE, "supported", [MADE])
    assert (second.status, second.citations) == ("missing_citation", ())


def cite(block: WrittenBlock) -> tuple[Block, ...]:
    return add_citations(None, WrittenText(blocks=(block,)), EVIDENCE).blocks


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


def test_definitions_and_tables_without_columns_are_terms() -> None:
    """A row is a term with its definition; sentences next to the rows are a list."""
    rows = (WrittenRow(label="Bread", cells=(word(MADE, 1), word(RIPENS, 2))),)
    for kind in ("definitions", "table"):
        block, listed = cite(WrittenBlock.model_validate({"kind": kind, "rows": rows, "sentences": (word(MADE, 1),)}))
        assert [(block.kind, c.label, c.column) for c in block.claims] == [("definitions", "Bread", "")] * 2
        assert (listed.kind, listed.claims[0].text) == ("bullets", MADE)
    assert cite(WrittenBlock(kind="definitions")) == ()


def test_code_is_code_only_if_a_passage_contains_it() -> None:
    """Invented code is an ordinary sentence, so that it is checked as one."""
    quoted, invented = cite(WrittenBlock(kind="code", sentences=(word("made from flour", 1), word("bake(now)", 1))))

    assert (quoted.kind, quoted.claims[0].status) == ("code", "supported")
    assert (invented.kind, invented.claims[0].status) == ("paragraph", "unverified")


def test_marks_in_the_text_are_citations() -> None:
    """A mark that a model wrote into a sentence is removed and counts; an index, code and other brackets stay."""
    said = (
        word("It takes two hours [1, 2], not three[3].", 1),
        word("The items[1] of `list [1]` and [9] stay, as [1](x) does.", 1),
        word("[1]", 1),
    )
    first, second, third = cite(WrittenBlock(kind="numbered", sentences=said))[0].claims

    assert (first.text, [c.chunk for c in first.citations]) == (
        "It takes two hours, not three.",
        [passage.chunk for passage in EVIDENCE.passages],
    )
    assert second.text == "The items[1] of `list [1]` and [9] stay, as [1](x) does."
    assert third.text == "[1]"


def test_prompt_and_schema_agree_on_the_number_of_passages() -> None:
    """The rule on citations names the limit that the schema has."""
    schema = WrittenSentence.model_json_schema()

    assert f"at most {schema['properties']['passages']['maxItems']}" in CITING_RULE


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
