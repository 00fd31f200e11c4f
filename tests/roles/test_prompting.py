"""Tests of structured text: rendering, parsing and verbatim citations."""

from tenure.algorithms.writing.composition import ComposedBlock, ComposedSentence
from tenure.roles.prompting import (
    WrittenBlock,
    WrittenSentence,
    WrittenText,
    add_citations,
    build_written_text,
    join_parts,
    render_draft,
    render_list,
)
from tests.roles.cases import DRAFT, EVIDENCE, MADE, RIPENS


def test_composed_text_has_the_form_of_a_model_answer() -> None:
    """Blocks keep their kind, and each sentence names its passage."""
    composed = [ComposedBlock("bullets", (ComposedSentence(MADE, 1), ComposedSentence(RIPENS, 2)))]

    assert build_written_text(composed) == WrittenText(
        blocks=(
            WrittenBlock(
                kind="bullets",
                sentences=(WrittenSentence(text=MADE, passages=(1,)), WrittenSentence(text=RIPENS, passages=(2,))),
            ),
        )
    )


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


def test_a_draft_is_rendered_with_passage_numbers() -> None:
    """Each sentence is followed by its passages, each once, with their present numbers."""
    assert render_draft(DRAFT, EVIDENCE.passages) == (
        f"{MADE} [1] Nobody knows who baked first.\n\n- Rye and cheese go together. [2][3]"
    )


def test_marks_use_the_present_passage_numbers() -> None:
    """With more evidence a claim is marked with its passage's new number, or with none."""
    assert render_draft(DRAFT, EVIDENCE.passages[::-1]).startswith(f"{MADE} [3]")
    assert render_draft(DRAFT, ()) == f"{MADE} Nobody knows who baked first.\n\n- Rye and cheese go together."


def test_passage_numbers_survive_a_round_trip() -> None:
    """The numbers that a writer named are the same when its draft is rendered."""
    text = build_written_text([ComposedBlock("paragraph", (ComposedSentence(MADE, 1), ComposedSentence(RIPENS, 2)))])

    assert render_draft(add_citations(None, text, EVIDENCE), EVIDENCE.passages) == f"{MADE} [1] {RIPENS} [2]"


def test_a_list_without_items_is_empty() -> None:
    """A title without items is omitted."""
    assert render_list("Wished", ["rye", "wheat"]) == "Wished:\n- rye\n- wheat"
    assert render_list("Wished", []) == ""


def test_empty_parts_are_not_joined() -> None:
    """Empty parts leave no gap."""
    assert join_parts("a", "", "b") == "a\n\nb"
