"""Tests of excerpts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.excerpts import (
    MAX_RUN_SENTENCES,
    extract_excerpts,
    has_back_reference,
    is_complete_sentence,
    make_standalone,
)
from tenure.algorithms.text.sentences import Sentence
from tests.support.passages import passage

PLAIN = "The baker lets the dough rise for two hours."
LEANING = "This gives the bread a finer taste."


def sentence(text: str) -> Sentence:
    return Sentence(text, 0, len(text), 1, "prose")


def found(text: str, kind: str = "prose") -> list[tuple[str, str]]:
    return [(excerpt.kind, excerpt.text) for excerpt in extract_excerpts([passage(text, kind=kind)])]


@pytest.mark.parametrize(
    "text", [PLAIN, "42 loaves are baked every single day.", "The baker says that bread is “a good thing”"]
)
def test_complete_sentences_are_accepted(text: str) -> None:
    """A sentence of reasonable length with a proper start and end is complete."""
    assert is_complete_sentence(sentence(text))


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
        "Ada Miller wrote a summary of the rules: .",
        "A loaf of old bread, with salt and butter.",
        "The author has to thank all bakers of rye.",
    ],
)
def test_fragments_and_pointers_are_rejected(text: str) -> None:
    """Fragments, formulas, references to other places and first-person sentences are rejected."""
    assert not is_complete_sentence(sentence(text))


@pytest.mark.parametrize(
    "text",
    [LEANING, "It rises.", "However, they are hot.", "But bread is old.", "There they wait.", "In this case no."],
)
def test_leading_pronoun_is_a_back_reference(text: str) -> None:
    """A sentence that opens with a reference needs the one before it, also after a connective."""
    assert has_back_reference(text)


@pytest.mark.parametrize("text", [PLAIN, "However, bread is old.", "This guide treats rye bread.", "There is a baker."])
def test_named_subject_is_no_back_reference(text: str) -> None:
    """Neither a connective nor "this document" is a back reference."""
    assert not has_back_reference(text)


def test_leading_connective_is_removed() -> None:
    """The connective is removed and the next word is capitalised."""
    assert make_standalone("However, bread is old.", "Bread") == "Bread is old."


def test_title_replaces_this_document() -> None:
    """The words "this guide" become the title, if there is one."""
    assert make_standalone("This guide treats rye bread.", r"Rye \1") == r"“Rye \1” treats rye bread."
    assert make_standalone("This guide treats rye bread.", "") == "This guide treats rye bread."


def test_standalone_sentence_is_unchanged() -> None:
    """A plain sentence is unchanged, even if it starts in lower case."""
    assert make_standalone("iron pans are good.", "Pans") == "iron pans are good."


def test_document_number_replaces_the_title() -> None:
    """A title that starts with a number is shortened to the number."""
    assert make_standalone("This document treats rye bread.", "RFC 12: On bread") == "RFC 12 treats rye bread."


def test_dependent_sentence_follows_its_antecedent() -> None:
    """A run starts with a self-contained sentence and includes the sentences that depend on it."""
    assert found(f"{PLAIN} {LEANING}") == [("run", f"{PLAIN} {LEANING}")]


def test_run_ends_at_the_word_limit() -> None:
    """A sentence that would make the run too long starts its own run if it can."""
    long = f"The baker is {'never ever ' * 18}late."

    assert found(f"{long} {long}") == [("run", long), ("run", long)]


def test_run_ends_at_the_sentence_limit() -> None:
    """An excerpt has a limited number of sentences."""
    assert found(" ".join([PLAIN, *[LEANING] * 6])) == [
        ("run", " ".join([PLAIN, *[LEANING] * (MAX_RUN_SENTENCES - 1)]))
    ]


def test_run_ends_before_an_unquotable_sentence() -> None:
    """A dependent sentence that refers to another place is omitted."""
    assert found(f"{PLAIN} This is explained in this section. {LEANING}") == [("run", PLAIN)]


def test_dependent_sentence_alone_is_no_excerpt() -> None:
    """A sentence without its antecedent is not quoted."""
    assert found(LEANING) == []


ITEMS = "- flour that is finely milled\n- water that is not cold\n- salt from the near sea"


def test_list_includes_its_introduction() -> None:
    """A sentence that ends in a colon and the list after it are one excerpt."""
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
def test_dependent_list_is_no_excerpt(text: str) -> None:
    """A dependent or short introduction, too few or too many items, fragments and first persons are rejected."""
    assert "list" not in [kind for kind, _ in found(text)]


def test_complete_list_items_are_excerpts() -> None:
    """An item that is a complete sentence is quotable without its list."""
    assert found(f"- {PLAIN}\n- {LEANING}\n- flour") == [("run", PLAIN)]


def test_back_matter_has_no_excerpts() -> None:
    """Sections such as references and acknowledgements have no excerpts."""
    assert extract_excerpts([passage(PLAIN, headings=("Bread", "References:"))]) == []
    assert extract_excerpts([passage(PLAIN, headings=("References", "Bread"))]) != []


def test_code_has_no_excerpts() -> None:
    """Comments of a program are not quoted as prose."""
    assert found(PLAIN, kind="code") == []


PIECES = st.sampled_from([PLAIN, LEANING, "A dough needs these things:", ITEMS, "# Title", "", "and so on", "I bake."])


@given(st.lists(PIECES, max_size=8), st.sampled_from([" ", "\n", "\n\n"]))
@settings(deadline=None)
def test_excerpts_are_verbatim(pieces: list[str], joint: str) -> None:
    """Sentences are verbatim, no sentence starts two excerpts, and passages are numbered from 1."""
    passages = [passage(joint.join(pieces)), passage(joint.join(reversed(pieces)), "other")]

    made = extract_excerpts(passages)

    for excerpt in made:
        text = passages[excerpt.passage_number - 1].text
        assert all(text[s.start : s.end] == s.text for s in excerpt.sentences)
        assert excerpt.start == excerpt.sentences[0].start
    opened = [(excerpt.passage_number, excerpt.start) for excerpt in made]
    assert len(opened) == len(set(opened))


def test_sentence_with_an_endless_word_is_rejected() -> None:
    """Neither such a sentence nor a list with one is quoted; adjacent sentences are."""
    data = "x" * 3_000
    listed = f"A dough of bread needs:\n\n- flour that is {data} and fresh\n- salt that is not too old"

    assert found(f"The baker lets {data} rise for two hours.\n\n{PLAIN}") == [("run", PLAIN)]
    assert [kind for kind, _ in found(listed)] == []
    assert [kind for kind, _ in found(listed.replace(data, "white"))] == ["list"]
