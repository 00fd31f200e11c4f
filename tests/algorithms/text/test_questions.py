"""Questions in plain patterns."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.questions import MAX_HEADING, compared, criteria, heading, parts, shorten


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How is bread made?", ("How is bread made?",)),
        ("How is bread made, and how does cheese ripen?", ("How is bread made", "How does cheese ripen?")),
        ("How is bread made? how is bread made?", ("How is bread made?",)),
        ("How is bread made? Why? What is rye?", ("How is bread made?", "What is rye?")),
        ("How is bread made,\nand what is it made of?", ("How is bread made, and what is it made of?",)),
        ("Why is rye hard to bake, and what was tried?", ("Why is rye hard to bake, and what was tried?",)),
        ("bread", ("bread",)),
        ("Bread; cheese", ("Bread; cheese",)),
        ("bread and cheese", ("Bread and cheese",)),
    ],
)
def test_a_question_is_split_at_its_joints(question: str, expected: tuple[str, ...]) -> None:
    """Parts are questions of their own; fragments and repetitions are not parts."""
    assert expected == parts(question)


@given(st.text(min_size=1, max_size=200))
@settings(deadline=None)
def test_there_is_always_a_part(question: str) -> None:
    """Whatever is asked, at least one part comes back and none is there twice."""
    found = parts(question)

    assert found
    assert len(set(found)) == len(found)


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
def test_a_comparison_has_two_sides(question: str, pair: tuple[str, str] | None) -> None:
    """The two things compared are found, without politeness and conditions; long phrases are no things."""
    assert pair == compared(question)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How does rye compare to wheat in terms of price and taste?", ("price", "taste")),
        ("rye vs wheat regarding price, taste, or colour", ("price", "taste", "colour")),
        ("Compare rye and wheat", ()),
        ("Compare rye and wheat in terms of what the guests of the last summer said", ()),
    ],
)
def test_a_comparison_may_say_by_what(question: str, expected: tuple[str, ...]) -> None:
    """Criteria are the short phrases after "in terms of" and its like."""
    assert expected == criteria(question)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the rye bread?", "Rye bread"),
        ("What's rye bread?", "Rye bread"),
        ("How do I bake rye bread?", "How to bake rye bread"),
        ("Please explain to me, why bread rises", "Why bread rises?"),
        ("tell me about rye bread", "Rye bread"),
        ("rye   bread...", "Rye bread"),
        ("What is lost when the dough falls?", "What is lost when the dough falls"),
        ("please", "Please"),
        ("??", "??"),
    ],
)
def test_a_question_reads_as_a_heading(question: str, expected: str) -> None:
    """Politeness, question words that only ask, and marks go; what is left is a heading."""
    assert expected == heading(question)


@given(st.text(min_size=1, max_size=300))
@settings(deadline=None)
def test_a_heading_is_short(question: str) -> None:
    """No question makes a heading longer than the limit."""
    assert len(heading(question)) <= MAX_HEADING


@given(st.text(max_size=60), st.integers(1, 70))
@settings(deadline=None)
def test_shortening_never_exceeds_the_limit(text: str, limit: int) -> None:
    """A text within the limit is untouched; a longer one is a beginning of it with an ellipsis."""
    cut = shorten(text, limit)

    assert len(cut) <= limit
    assert cut == text if len(text) <= limit else cut.endswith("…") and text.startswith(cut[:-1])


def test_words_are_not_cut() -> None:
    """A cut falls between words where there is a blank before the limit."""
    assert shorten("Bread, cheese and wine", 10) == "Bread…"
    assert shorten("Breadandcheese", 6) == "Bread…"
