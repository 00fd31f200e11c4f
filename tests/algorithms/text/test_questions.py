"""Tests of question patterns."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.questions import (
    MAX_HEADING_CHARACTERS,
    extract_compared_items,
    extract_criteria,
    format_heading,
    remove_questions,
    shorten,
)


@pytest.mark.parametrize(
    ("question", "pair"),
    [
        ("Compare rye bread with wheat bread for taste", ("rye bread", "wheat bread")),
        ("What is the difference between rye and wheat?", ("rye", "wheat")),
        ("How do rye and wheat differ?", ("rye", "wheat")),
        ("rye vs. wheat in terms of price", ("rye", "wheat")),
        ("How is bread made?", None),
        ("Compare " + "very " * 9 + "old rye and wheat", None),
    ],
)
def test_compared_items_are_extracted(question: str, pair: tuple[str, str] | None) -> None:
    """The two compared items are found without polite phrases and conditions; long phrases are not items."""
    assert pair == extract_compared_items(question)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How does rye compare to wheat in terms of price and taste?", ("price", "taste")),
        ("rye vs wheat regarding price, taste, or colour", ("price", "taste", "colour")),
        ("Compare rye and wheat", ()),
        ("Compare rye and wheat in terms of what the guests of the last summer said", ()),
    ],
)
def test_comparison_criteria_are_extracted(question: str, expected: tuple[str, ...]) -> None:
    """Criteria are the short phrases after "in terms of" and similar words."""
    assert expected == extract_criteria(question)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the rye bread?", "Rye bread"),
        ("What's rye bread?", "Rye bread"),
        ("How do I bake rye bread?", "How to bake rye bread"),
        ("Please explain to me, why bread rises", "Why bread rises"),
        ("tell me about rye bread", "Rye bread"),
        ("rye   bread...", "Rye bread"),
        ("What is lost when the dough falls?", "What is lost when the dough falls"),
        ("List the kinds of bread", "Kinds of bread"),
        ("Give me an overview of rye bread.", "Rye bread"),
        ("Compare rye bread with wheat bread", "Compare rye bread with wheat bread"),
        ("Name two breads and say which one is darker.", "Name two breads and say which one is darker"),
        ("Tell me when bread was invented and why it rises.", "When bread was invented and why it rises"),
        ("What is rye bread and what are the main uses?", "What is rye bread and what are the main uses?"),
        ("What is rye used for?", "What is rye used for?"),
        ("What is wrong with rye?", "What is wrong with rye?"),
        ("What is dangerous for dogs?", "What is dangerous for dogs?"),
        ("What is hard about rye?", "What is hard about rye?"),
        ("What is it like to bake?", "What is it like to bake?"),
        ("If the oven is cold, what happens to the dough?", "If the oven is cold, what happens to the dough?"),
        ("We bake every day. How do we store flour?", "How to store flour"),
        ("We bake. How old is rye, and who grows it?", "How old is rye, and who grows it?"),
        ("We own an oven. How do we clean it?", "We own an oven. How do we clean it?"),
        ("please", "Please"),
        ("??", "??"),
    ],
)
def test_question_becomes_a_heading(question: str, expected: str) -> None:
    """Polite phrases, question words and punctuation are removed."""
    assert expected == format_heading(question)


@given(st.text(min_size=1, max_size=300))
@settings(deadline=None)
def test_heading_length_is_bounded(question: str) -> None:
    """No heading exceeds the limit."""
    assert len(format_heading(question)) <= MAX_HEADING_CHARACTERS


@given(st.text(max_size=60), st.integers(1, 70))
@settings(deadline=None)
def test_shortening_never_exceeds_the_limit(text: str, limit: int) -> None:
    """A text within the limit is unchanged; a longer one is truncated with an ellipsis."""
    cut = shorten(text, limit)

    assert len(cut) <= limit
    assert cut == text if len(text) <= limit else cut.endswith("…") and text.startswith(cut[:-1])


def test_shortening_cuts_between_words() -> None:
    """The cut is between words if a blank precedes the limit."""
    assert shorten("Bread, cheese and wine", 10) == "Bread…"
    assert shorten("Breadandcheese", 6) == "Bread…"


@pytest.mark.parametrize(
    ("text", "question", "stated"),
    [
        ('start "How is rye baked?" --docs rye', "Why is rye sour?", 'start " " --docs rye'),
        ("ask how is rye baked --docs rye", "How is rye baked?", "ask   --docs rye"),
        ("Rye is baked. Why not? It is hot?!", "How is rye baked?", "Rye is baked.   It  !"),
        ("- Rye bread", "rye bread", "-  "),
        ("Rye bread is sour.", "rye bread", "Rye bread is sour."),
        ("Rye is good.", "?", "Rye is good."),
    ],
    ids=["quoted", "without a mark", "among statements", "only the topic", "a topic that is the subject", "no words"],
)
def test_questions_are_removed_from_a_text(text: str, question: str, stated: str) -> None:
    """The statements of a text remain."""
    assert stated == remove_questions(text, question)
