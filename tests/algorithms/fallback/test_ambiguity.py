"""Tests of ambiguity detection and of inserted answers."""

import pytest

from tenure.algorithms.fallback.ambiguity import find_ambiguity, insert_answer
from tenure.algorithms.text.passage import Passage
from tests.support.passages import passage

BREAD = (passage("The dough rises.", title="Bread"), passage("It is baked.", title="Bread"), passage("x", title="Milk"))
ELEMENTS = (
    passage("A planet near the sun.", title="Mercury (planet)"),
    passage("A metal that flows.", headings=("Metals", "Mercury (element)")),
    passage("A planet without a moon.", title="Mercury (planet)"),
)
TOWNS = (passage("A town.", title="Springfield, Illinois"), passage("A town.", title="Springfield, Ohio"))
SMITHS = (
    passage("Adam Smith wrote of nations. President Smith did not.", title="Nations"),
    passage("The bakery of John Smith sells bread.", title="Bakers"),
)
CENSUS = (
    passage("In 2011 the population of Ghent was small. In 2021 the population of Ghent was large.", title="Ghent"),
    passage("The population of Bruges was small in 1999.", title="Bruges"),
)


def asked(question: str, *passages: Passage) -> tuple[str, str] | None:
    found = find_ambiguity(question, passages)
    return (found.question, found.assumption) if found else None


@pytest.mark.parametrize(
    "question",
    [
        "How does it work?",
        "What is it?",
        "Why did they leave?",
        "When did he write Dune?",
        "How old is she?",
        "What does it cost?",
        "How do I install it?",
        "In which year did it open?",
        "What are its ingredients?",
    ],
)
def test_unresolved_pronoun_is_ambiguous(question: str) -> None:
    """The assumption is the document of most passages."""
    found = asked(question, *BREAD)

    assert found and found[0].endswith("refer to in this question?") and found[1] == "Bread"


@pytest.mark.parametrize(
    "question",
    [
        "How is bread made, and how long does it rise?",
        "Who wrote Dune, and where was he born?",
        "How do people lose their keys?",
        "How long does it take to bake bread?",
        "Is it true that bread rises?",
        "Why does it really matter whether dough rests?",
        "When does it rain in Ghent?",
        "What is IT governance?",
        "How do cats and dogs differ?",
        "How does rye bread compare with wheat bread?",
        "Compare rye bread with wheat bread",
        "Compare databases",
        "Is rye or wheat bread better?",
        "Is the bread that the bakers of the old town made in the night better?",
        "Which bread is made of rye?",
        "What is the population of Ghent?",
        "",
    ],
)
def test_clear_questions_are_not_ambiguous(question: str) -> None:
    """Named subjects, repeated names and impersonal pronouns are clear."""
    assert asked(question, *BREAD) is None


@pytest.mark.parametrize(
    ("question", "one"),
    [
        ("How does rye bread compare?", "rye bread"),
        ("In what does rye bread differ? How does rye bread differ", "rye bread"),
        ("Please compare rye bread.", "rye bread"),
        ("Why is rye bread so much healthier?", "rye bread"),
        ("Is rye bread less expensive?", "rye bread"),
    ],
)
def test_one_sided_comparison_is_ambiguous(question: str, one: str) -> None:
    """One sided comparison is ambiguous."""
    found = asked(question)

    assert found and found[1] == "the alternatives in the sources"
    assert found[0].startswith("With what is") and one in found[0]


def test_name_with_several_meanings_is_ambiguous() -> None:
    """Titles and headings distinguish the meanings; the one with most passages is assumed."""
    assert asked("What is mercury made of?", *ELEMENTS) == ("Which ‘mercury’ is meant: planet or element?", "planet")
    assert asked("Who governs Springfield?", *TOWNS) == (
        "Which ‘Springfield’ is meant: Illinois or Ohio?",
        "Illinois",
    )
    assert asked("How far is the planet Mercury?", *ELEMENTS) is None
    assert asked("What is mercury made of?", *ELEMENTS[:1]) is None
    assert asked("What is bread made of?", *ELEMENTS) is None


def test_surname_of_several_people_is_ambiguous() -> None:
    """Full names in the passages distinguish people; a full name in the question is clear."""
    assert asked("Who was Smith?", *SMITHS) == ("Which ‘Smith’ is meant: Adam Smith or John Smith?", "Adam Smith")
    assert asked("Who was Adam Smith?", *SMITHS) is None
    assert asked("What did Smith sell?", *SMITHS) is None


def test_figure_of_several_years_is_ambiguous() -> None:
    """A time in the question makes it clear."""
    assert asked("What was the population of Ghent?", *CENSUS) == (
        "Which time does the question refer to? The sources mention 2011 and 2021.",
        "2021",
    )
    assert asked("What was the population of Ghent in 2011?", *CENSUS) is None
    assert asked("What is the population of Bruges?", *CENSUS) is None
    assert asked("How much?", *CENSUS) is None


@pytest.mark.parametrize(
    ("question", "answer", "meant"),
    [
        ("How does it work?", "the dough.", "How does the dough work?"),
        ("What are its ingredients?", "rye bread", "What are rye bread's ingredients?"),
        ("What are their rules?", "bakers", "What are bakers' rules?"),
        ("How does rye bread compare?", " wheat\nbread ", "How does rye bread compare (wheat bread)?"),
        ("Compare rye bread.", "wheat bread", "Compare rye bread (wheat bread)"),
        ("How does it work?", "a b c d e f g h i", "How does it work (a b c d e f g h i)?"),
        ("How does it work?", " ?", "How does it work?"),
    ],
)
def test_answer_is_inserted(question: str, answer: str, meant: str) -> None:
    """A short answer replaces the word it explains; other answers are appended."""
    assert insert_answer(question, answer) == meant


def test_default_assumption_without_passages() -> None:
    """Default assumption without passages."""
    assert asked("How does it work?") == (
        "What does ‘it’ refer to in this question?",
        "the main subject of the documents",
    )
