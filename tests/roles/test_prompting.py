"""The form in which writers write: structure in, verbatim citations out."""

from tenure.algorithms.writing.composition import Composed, ComposedBlock
from tenure.roles.prompting import WrittenBlock, WrittenSentence, WrittenText, as_list, drafted, joined, marked, written
from tests.roles.cases import DRAFT, EVIDENCE, MADE, RIPENS


def test_composed_text_is_written_as_a_model_would() -> None:
    """Blocks keep their kind, each sentence names its passage."""
    composed = [ComposedBlock("bullets", (Composed(MADE, 1), Composed(RIPENS, 2)))]

    assert written(composed) == WrittenText(
        blocks=(
            WrittenBlock(
                kind="bullets",
                sentences=(WrittenSentence(text=MADE, passages=(1,)), WrittenSentence(text=RIPENS, passages=(2,))),
            ),
        )
    )


def test_what_was_written_is_drafted_with_quotes() -> None:
    """Every named passage becomes a verbatim citation; a number nobody gave does not."""
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

    first, second = drafted(text, EVIDENCE.passages).claims

    assert (first.text, first.status, [c.quote for c in first.citations]) == (MADE, "supported", [MADE])
    assert (second.status, second.citations) == ("missing_citation", ())


def test_a_draft_is_marked_with_the_numbers_of_its_passages() -> None:
    """A model sees each sentence with the passages it rests on, each once, by their present numbers."""
    assert marked(DRAFT, EVIDENCE.passages) == (
        f"{MADE} [1] Nobody knows who baked first.\n\nRye and cheese go together. [2][3]"
    )


def test_marks_follow_the_passages_when_they_move() -> None:
    """After more evidence was found a claim is marked with its passage's new number, or with none."""
    assert marked(DRAFT, EVIDENCE.passages[::-1]).startswith(f"{MADE} [3]")
    assert marked(DRAFT, ()) == f"{MADE} Nobody knows who baked first.\n\nRye and cheese go together."


def test_written_drafted_marked_names_the_same_passages() -> None:
    """The numbers a writer named come back when its draft is shown again."""
    text = written([ComposedBlock("paragraph", (Composed(MADE, 1), Composed(RIPENS, 2)))])

    assert marked(drafted(text, EVIDENCE.passages), EVIDENCE.passages) == f"{MADE} [1] {RIPENS} [2]"


def test_a_list_without_items_is_nothing() -> None:
    """A title is set only above something."""
    assert as_list("Wished", ["rye", "wheat"]) == "Wished:\n- rye\n- wheat"
    assert as_list("Wished", []) == ""


def test_parts_of_a_prompt_are_joined_where_they_are_there() -> None:
    """Empty parts leave no gap."""
    assert joined("a", "", "b") == "a\n\nb"
