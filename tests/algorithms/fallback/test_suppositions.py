"""Tests of counterfactual questions."""

import pytest

from tenure.algorithms.fallback.suppositions import extract_supposition, find_consequences
from tests.support.passages import passage
from tests.support.worlds import encode

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
def test_supposition_is_extracted(question: str, expected: tuple[str, ...]) -> None:
    """The words of the change are left out; a question may have no supposition."""
    assert extract_supposition(question) == expected


def test_reliances_precede_consequences() -> None:
    """The consequence nearest to the question is last."""
    passages = [passage(text, str(n)) for n, text in enumerate((WITHOUT, USE, RESTS, SHORT))]
    found = find_consequences("What would happen to bread if there was no master oven lock?", passages, encode)

    assert {(step.kind, step.text) for step in found.steps} == {
        ("supposition", USE),
        ("supposition", RESTS),
        ("consequence", SHORT),
    }
    assert found.conclusion is not None
    assert (found.conclusion.kind, found.conclusion.text) == ("consequence", WITHOUT)


def test_equal_condition_gives_a_consequence() -> None:
    """Equal condition gives a consequence."""
    dies = "When the master baker dies, the guild keeps the oven of the master baker warm."
    takes = "If the master baker has died, the apprentice takes the oven over."
    other = "When the master baker sleeps, the oven of the guild has to rest."
    passages = [passage(text, str(n)) for n, text in enumerate((dies, takes, other))]
    found = find_consequences("What happens to the oven if the master baker dies?", passages, encode)

    assert found.conclusion is not None
    assert {step.text for step in (*found.steps, found.conclusion)} == {dies, takes}


def test_synonyms_of_failure_are_the_same_condition() -> None:
    """A crash is a death, and a generic subject states a condition."""
    generic = "A master baker who dies leaves the oven to the guild of the town."
    crash = "After the death of the master baker the guild keeps the oven warm."
    points = "The guild also shuts it when the master baker is killed."
    passages = [passage(text, str(n)) for n, text in enumerate((generic, crash, points))]
    found = find_consequences("What happens to the oven when the master baker is killed?", passages, encode)

    assert found.conclusion is not None
    assert {step.text for step in (*found.steps, found.conclusion)} == {generic, crash}


def test_reliances_alone_are_no_answer() -> None:
    """Reliances alone are no answer."""
    question = "What would happen to bread without the master oven lock?"

    assert find_consequences(question, [passage(USE, "a"), passage(RESTS, "b")], encode).conclusion is None
    assert find_consequences(question, [passage(WITHOUT)], encode).conclusion is None
    assert find_consequences("How is bread made?", [passage(WITHOUT)], encode).conclusion is None
