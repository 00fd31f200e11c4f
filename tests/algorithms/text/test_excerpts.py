"""Tests of sentences that can be quoted alone."""

import pytest

from tenure.algorithms.text.excerpts import (
    has_back_reference,
    is_back_matter,
    is_complete_sentence,
    make_standalone,
)
from tenure.algorithms.text.sentences import Sentence
from tests.support.passages import passage

PLAIN = "The baker lets the dough rise for two hours."
LEANING = "This gives the bread a finer taste."


def sentence(text: str) -> Sentence:
    return Sentence(text, 0, len(text), 1, "prose")


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
        "Table of contents and index of names.",
        "The new Swiss business class of the baker.",
        "The whole of the baker's oven and the dough.",
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


def test_back_matter_is_known_by_its_nearest_heading() -> None:
    """Sections such as references are back matter; sections below them are not."""
    assert is_back_matter(passage(PLAIN, headings=("Bread", "References:")))
    assert is_back_matter(passage(PLAIN, headings=("Bread", "Topics Covered")))
    assert not is_back_matter(passage(PLAIN, headings=("References", "Bread")))


def test_sentence_with_an_endless_word_is_rejected() -> None:
    """A data line is no sentence that can be quoted."""
    assert not is_complete_sentence(sentence(f"The baker lets {'x' * 3_000} rise for two hours."))
