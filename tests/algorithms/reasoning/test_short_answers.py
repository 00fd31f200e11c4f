"""Tests of short answers to factoid questions."""

import pytest

from tenure.algorithms.reasoning.short_answers import (
    find_short_answer,
    has_detail,
    is_factoid_question,
)

TITLE = "Guild of Bakers"


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        (
            "When was the Guild of Bakers founded?",
            "The Guild of Bakers was founded on 3 May 1848 in Ghent.",
            "3 May 1848",
        ),
        ("When was the Guild of Bakers founded?", "The Guild of Bakers was founded in 1200 B.C. here.", "1200 B.C."),
        ("In which year was the Guild of Bakers founded?", "Founded in 44 BC, it closed in AD 79.", "44 BC"),
        ("When did the Guild of Bakers close?", "The Guild of Bakers had to close in AD 79.", "AD 79"),
        ("In which year was the Guild of Bakers founded?", "It was founded on 3 May 1848, not in 1850.", "1848"),
        ("How many ovens has the Guild of Bakers?", "Today the Guild of Bakers has 12 ovens.", "12 ovens"),
        (
            "How many brick ovens has the Guild of Bakers?",
            "Since 1920 it has 12 old brick ovens.",
            "12 old brick ovens",
        ),
        ("How many ovens has the Guild of Bakers?", "The Guild of Bakers lit its nine ovens at 4.", "nine ovens"),
        ("What is the price of bread?", "The price of bread is $1.5 million.", "$1.5 million"),
        ("Who founded the Guild of Bakers?", "The Guild of Bakers was founded by Ada Miller.", "Ada Miller"),
        (
            "Who leads the Guild of Bakers?",
            "Today in Ghent, Ludwig van Hout leads the Guild of Bakers.",
            "Ludwig van Hout",
        ),
        ("Where is the Guild of Bakers?", "The Guild of Bakers meets in Ghent.", "Ghent"),
        ("Where is the Guild of Bakers?", "The Guild of Bakers meets in Ghent, East Flanders.", "Ghent, East Flanders"),
        ("Which city houses the Guild of Bakers?", "The city of Ghent houses it, a Belgian one.", "Ghent"),
    ],
)
def test_short_answers_are_found(question: str, text: str, answer: str) -> None:
    """A date, year, number, person or place is found in the sentence that has the words of the question."""
    found = find_short_answer(question, [("Smiths", "The Guild of Smiths has 3 forges."), (TITLE, text)])

    assert found == (answer, 1)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When was the Guild of Bakers founded?", "The Guild of Bakers was founded by Ada Miller."),
        ("When was the Guild of Bakers founded?", "Trade bloomed in 1848."),
        ("How many ovens has the Guild of Bakers?", "The Guild of Bakers has had ovens since 1848."),
        ("How many members has the Guild of Bakers?", "Of the members of the Guild of Bakers 3 voted."),
        ("What is the size of the guild?", "The guild votes 3:2 on its size, or 4-1 as of 2/3."),
        ("Who founded the Guild of Bakers?", "The Guild of Bakers was founded in the Free City."),
        ("Who founded the Guild of Bakers?", "Bread founded the Guild of Bakers with Miller."),
        ("Where is the Guild of Bakers?", "The Guild of Bakers is of Belgian origin."),
        ("How does the Guild of Bakers bake?", "The Guild of Bakers bakes in Ghent."),
        ("How do I limit how often the Guild of Bakers bakes?", "The limit is that the Guild of Bakers bakes 3 times."),
        ("Who founded the guild that owns the hall?", "Ada Miller founded the guild that owns the hall."),
        ("Where is the hall of the guild of the bakers?", "The hall of the guild of the bakers is in Ghent."),
        ("Who?", "Ada Miller."),
        ("Where is the Guild of Bakers?", "Trade of the Guild of Bakers is in Bakers."),
    ],
)
def test_doubtful_answers_are_withheld(question: str, text: str) -> None:
    """The words of the question and the requested kind must occur; a nested question needs more than a sentence."""
    assert find_short_answer(question, [(TITLE, text)]) is None


def test_the_nearest_phrase_is_the_answer() -> None:
    """Of several dates the one next to the words of the question is chosen."""
    text = "The hall was built in 1848 and burnt in 1901."

    assert find_short_answer("When was the hall built?", [(TITLE, text)]) == ("1848", 0)
    assert find_short_answer("When was the burnt hall rebuilt?", [(TITLE, text)]) is None


def test_factoid_questions_are_recognised() -> None:
    """Only questions for a date, a number or a person are factoid questions."""
    assert is_factoid_question("Who baked it?")
    assert not is_factoid_question("How is bread made?")


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("When was the guild founded?", "It was founded in 1848.", True),
        ("When was the guild founded?", "It was founded in Ghent.", False),
        ("How many ovens has the guild?", "The guild has 12 ovens.", True),
        ("How many ovens has the guild?", "The guild has ovens.", False),
        ("Which city has the Guild of Bakers?", "The Guild of Bakers is in Ghent.", True),
        ("Which city has the Guild of Bakers?", "The Guild of Bakers is old.", False),
        ("Why did the guild close?", "The guild closed when Ghent burnt.", False),
    ],
)
def test_a_text_may_have_the_requested_detail(question: str, text: str, expected: bool) -> None:
    """A date, a number, or a name that is not in the question; an explanation asks for none of them."""
    assert has_detail(question, text) is expected
