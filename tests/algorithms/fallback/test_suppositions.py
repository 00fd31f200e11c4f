"""What would follow if something were otherwise."""

import pytest

from tenure.algorithms.fallback.suppositions import extract_supposition, find_consequences
from tests.passages import passage
from tests.worlds import encode

USE = "The master oven lock prevents two bakers from using the master oven at once."
RESTS = "The night shift relies on the master oven lock for its rye bread."
WITHOUT = "Without the master oven lock two bakers burn the bread of each other."
SHORT = "When the MOL is removed the bread of the master oven is at risk."
QUESTION = "What happens to the bread if the master oven lock is removed?"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What if there were no ovens?", ("oven",)),
        ("What would happen without the master oven?", ("master", "oven")),
        ("Suppose that bread had never existed", ("bread",)),
        ("What happens to the bread when the master oven fails?", ("master", "oven")),
        ("How is bread made?", ()),
    ],
)
def test_what_a_question_supposes_away(question: str, expected: tuple[str, ...]) -> None:
    """The thing is named without the words that take it away; a question may suppose nothing."""
    assert extract_supposition(question) == expected


def test_what_rests_on_a_thing_comes_before_what_follows_without_it() -> None:
    """Uses and reliances are told first, then what sources say of its absence, the nearest of it last."""
    passages = [passage(text, str(n)) for n, text in enumerate((WITHOUT, USE, RESTS, SHORT))]
    found = find_consequences("What would happen to bread if there was no master oven lock?", passages, encode)

    assert {(step.kind, step.text) for step in found.steps} == {
        ("supposition", USE),
        ("supposition", RESTS),
        ("consequence", SHORT),
    }
    assert found.conclusion is not None
    assert (found.conclusion.kind, found.conclusion.text) == ("consequence", WITHOUT)


def test_a_condition_that_sources_have_too_says_what_follows() -> None:
    """What happens when something happens is told by sentences with the same condition, and not by others."""
    dies = "When the master baker dies, the guild keeps the oven of the master baker warm."
    takes = "If the master baker has died, the apprentice takes the oven over."
    other = "When the master baker sleeps, the oven of the guild has to rest."
    passages = [passage(text, str(n)) for n, text in enumerate((dies, takes, other))]
    found = find_consequences("What happens to the oven if the master baker dies?", passages, encode)

    assert found.conclusion is not None
    assert {step.text for step in (*found.steps, found.conclusion)} == {dies, takes}


def test_deaths_of_other_names_and_of_whoever_dies_are_the_same_condition() -> None:
    """A crash is a death, "a thing that dies" is a condition, and a sentence that points elsewhere says nothing."""
    generic = "A master baker who dies leaves the oven to the guild of the town."
    crash = "After the death of the master baker the guild keeps the oven warm."
    points = "The guild also shuts it when the master baker is killed."
    passages = [passage(text, str(n)) for n, text in enumerate((generic, crash, points))]
    found = find_consequences("What happens to the oven when the master baker is killed?", passages, encode)

    assert found.conclusion is not None
    assert {step.text for step in (*found.steps, found.conclusion)} == {generic, crash}


def test_uses_alone_do_not_say_what_would_follow() -> None:
    """Without a source on the absence, with a single statement, or without a thing nothing is supposed."""
    question = "What would happen to bread without the master oven lock?"

    assert find_consequences(question, [passage(USE, "a"), passage(RESTS, "b")], encode).conclusion is None
    assert find_consequences(question, [passage(WITHOUT)], encode).conclusion is None
    assert find_consequences("How is bread made?", [passage(WITHOUT)], encode).conclusion is None
