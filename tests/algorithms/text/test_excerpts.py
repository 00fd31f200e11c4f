"""Excerpts: what of a passage can stand on its own."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.excerpts import MAX_RUN, excerpts, points_back, presentable, standing
from tenure.algorithms.text.sentences import Sentence
from tests.passages import passage

PLAIN = "The baker lets the dough rise for two hours."
LEANING = "This gives the bread a finer taste."


def sentence(text: str) -> Sentence:
    return Sentence(text, 0, len(text), 1, "prose")


def found(text: str, kind: str = "prose") -> list[tuple[str, str]]:
    return [(excerpt.kind, excerpt.text) for excerpt in excerpts([passage(text, kind=kind)])]


@pytest.mark.parametrize(
    "text", [PLAIN, "42 loaves are baked every single day.", "The baker says that bread is “a good thing”"]
)
def test_whole_prose_is_presentable(text: str) -> None:
    """A sentence of reasonable length that begins and ends as one can be shown."""
    assert presentable(sentence(text))


@pytest.mark.parametrize(
    "text",
    [
        "Too short.",
        "The baker lets the dough rise " + "and rise " * 40 + "again.",
        "The baker lets the dough rise for two hours",
        "The baker needs these five things:",
        "and lets the dough rise for two hours.",
        "The dough (1) + (2) = {3} / [4] * <5> ^ 6 % 7.",
        "The baker lets it rise, see below for hours.",
        "The dough rises as shown in Figure 3.",
        "I let the dough rise for two hours.",
        "Is it true that the dough has to rise?",
        "1. The baker lets the dough rise for hours.",
        "The baker lets the dough (of rye rise for hours.",
        'The baker lets the "dough of rye rise for hours.',
        "A loaf of old bread, with salt and butter.",
        "The author has to thank all bakers of rye.",
    ],
)
def test_what_is_cut_off_or_points_elsewhere_is_not(text: str) -> None:
    """Fragments, formulas, pointers and the author's first person cannot be shown."""
    assert not presentable(sentence(text))


@pytest.mark.parametrize(
    "text",
    [LEANING, "It rises.", "However, they are hot.", "But bread is old.", "There they wait.", "In this case no."],
)
def test_a_sentence_with_a_pronoun_in_front_leans(text: str) -> None:
    """A sentence that opens by pointing back needs the one before it, behind a connective too."""
    assert points_back(text)


@pytest.mark.parametrize("text", [PLAIN, "However, bread is old.", "This guide treats rye bread.", "There is a baker."])
def test_a_sentence_that_names_its_subject_stands(text: str) -> None:
    """Neither a connective nor a document that speaks of itself makes a sentence lean."""
    assert not points_back(text)


def test_an_opening_sentence_loses_its_connective() -> None:
    """What connected it to the sentence before is dropped, and the next word is its beginning."""
    assert standing("However, bread is old.", "Bread") == "Bread is old."


def test_a_document_that_speaks_of_itself_is_named() -> None:
    """The words "this guide" become the title, if there is one, to the letter."""
    assert standing("This guide treats rye bread.", r"Rye \1") == r"“Rye \1” treats rye bread."
    assert standing("This guide treats rye bread.", "") == "This guide treats rye bread."


def test_a_sentence_that_stands_is_not_touched() -> None:
    """A plain sentence is set as it is written, be its first letter small or not."""
    assert standing("iron pans are good.", "Pans") == "iron pans are good."


def test_a_document_with_a_number_is_named_by_it() -> None:
    """A title that starts with a number is named shortly."""
    assert standing("This document treats rye bread.", "RFC 12: On bread") == "RFC 12 treats rye bread."


def test_a_leaning_sentence_comes_along_with_what_it_leans_on() -> None:
    """A run begins with a standing sentence and holds those that need it."""
    assert found(f"{PLAIN} {LEANING}") == [("run", f"{PLAIN} {LEANING}")]


def test_a_run_ends_before_it_grows_long() -> None:
    """A sentence that would make the run too long opens one of its own, if it can."""
    long = f"The baker is {'never ever ' * 18}late."

    assert found(f"{long} {long}") == [("run", long), ("run", long)]


def test_a_run_ends_at_its_limit() -> None:
    """However many sentences lean on each other, an excerpt stays short."""
    assert found(" ".join([PLAIN, *[LEANING] * 6])) == [("run", " ".join([PLAIN, *[LEANING] * (MAX_RUN - 1)]))]


def test_a_run_ends_before_what_cannot_be_shown() -> None:
    """A leaning sentence that points elsewhere is left behind."""
    assert found(f"{PLAIN} This is explained in this section. {LEANING}") == [("run", PLAIN)]


def test_a_leaning_sentence_alone_is_no_excerpt() -> None:
    """Without the sentence it needs it is not shown."""
    assert found(LEANING) == []


ITEMS = "- flour that is finely milled\n- water that is not cold\n- salt from the near sea"


def test_a_list_comes_with_its_introduction() -> None:
    """A sentence that ends in a colon and the list behind it are one excerpt."""
    assert found(f"A dough of bread needs:\n\n{ITEMS}") == [
        (
            "list",
            "A dough of bread needs: flour that is finely milled water that is not cold salt from the near sea",
        )
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"It needs the following:\n\n{ITEMS}",
        f"Needs:\n\n{ITEMS}",
        f"A dough of bread needs, see below:\n\n{ITEMS}",
        "A dough of bread needs:\n\n- flour that is finely milled",
        "A dough of bread needs:\n\n" + "- flour that is finely milled\n" * 9,
        "A dough of bread needs:\n\n- flour\n- water",
        "A dough of bread needs:\n\n- flour that I mill finely\n- water that is not cold",
        "A dough of bread needs:",
        "A dough of bread needs:\n\nFlour and water",
    ],
)
def test_a_list_that_does_not_stand_on_its_own_is_left_out(text: str) -> None:
    """A leaning or bare introduction, too few or too many items, fragments and first persons make no excerpt."""
    assert "list" not in [kind for kind, _ in found(text)]


def test_whole_sentences_of_a_list_stand_alone() -> None:
    """An item that is a sentence of its own can be shown without its list."""
    assert found(f"- {PLAIN}\n- {LEANING}\n- flour") == [("run", PLAIN)]


def test_back_matter_has_no_excerpts() -> None:
    """What stands under references or thanks says nothing on a subject."""
    assert excerpts([passage(PLAIN, headings=("Bread", "References:"))]) == []
    assert excerpts([passage(PLAIN, headings=("References", "Bread"))]) != []


def test_code_has_no_excerpts() -> None:
    """A program's comments are not quoted as prose."""
    assert found(PLAIN, kind="code") == []


PIECES = st.sampled_from([PLAIN, LEANING, "A dough needs these things:", ITEMS, "# Title", "", "and so on", "I bake."])


@given(st.lists(PIECES, max_size=8), st.sampled_from([" ", "\n", "\n\n"]))
@settings(deadline=None)
def test_excerpts_are_made_of_the_passages_own_sentences(pieces: list[str], joint: str) -> None:
    """Every sentence is verbatim, no sentence opens two excerpts, and passages are numbered from 1."""
    passages = [passage(joint.join(pieces)), passage(joint.join(reversed(pieces)), "other")]

    made = excerpts(passages)

    for excerpt in made:
        text = passages[excerpt.passage - 1].text
        assert all(text[s.start : s.end] == s.text for s in excerpt.sentences)
        assert excerpt.order == excerpt.sentences[0].start
    opened = [(excerpt.passage, excerpt.order) for excerpt in made]
    assert len(opened) == len(set(opened))


def test_a_word_as_long_as_a_data_line_makes_its_sentence_unfit() -> None:
    """Neither such a sentence nor a list with one can be shown; those beside them can."""
    data = "x" * 3_000
    listed = f"A dough of bread needs:\n\n- flour that is {data} and fresh\n- salt that is not too old"

    assert found(f"The baker lets {data} rise for two hours.\n\n{PLAIN}") == [("run", PLAIN)]
    assert [kind for kind, _ in found(listed)] == []
    assert [kind for kind, _ in found(listed.replace(data, "white"))] == ["list"]
