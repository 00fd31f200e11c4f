"""Tests of noun phrases of questions."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.grammar.noun_phrases import NounPhrases, find_noun_phrases, is_agreeing


@pytest.mark.parametrize(
    ("question", "subject", "found_object"),
    [
        ("How did gradual typing come to Python?", "gradual typing", "Python"),
        ("How do I install nginx on Debian?", "", "nginx"),
        ("How does HTTPS protect passwords?", "HTTPS", "passwords"),
        ("Why has bread still risen?", "bread", ""),
        ("Why was project X-1 delayed?", "project X-1", ""),
        ("Why is rye hard to bake?", "rye", ""),
        ("Is Dr. Oat a baker?", "Dr. Oat", ""),
        ("Is it old?", "", ""),
        ("Is Rome a town?", "Rome", ""),
        ("Why do ovens still cool?", "ovens", ""),
        ("What's the price of rye?", "the price of rye", ""),
        ("What is not rye?", "rye", ""),
        ("In which town was the oven built?", "the oven", ""),
        ("Who wrote Dune?", "", "Dune"),
        ("What happened to Nokia?", "", "Nokia"),
        ("Which states signed the treaty?", "", "the treaty"),
        ("How does Kubernetes orchestrate pods?", "Kubernetes", ""),
        ("How does bread fluctuate?", "", ""),
        ("Explain how to install nginx.", "", "nginx"),
        ("Explain how TCP handles congestion.", "TCP", "congestion"),
        ("Explain why bread.", "", ""),
        ("Give me an overview of asyncio.", "asyncio", ""),
        ("What are the size, the age and the cost of rye?", "", ""),
        ("Where is?", "", ""),
        ("The city has how many ovens?", "", ""),
        ("?", "", ""),
    ],
)
def test_subject_and_object_are_found(question: str, subject: str, found_object: str) -> None:
    """The subject and the object of a question are found, or empty if they are uncertain."""
    found = find_noun_phrases(question)

    assert (found.subject, found.object) == (subject, found_object)


@pytest.mark.parametrize(
    ("phrase", "plural", "expected"),
    [
        ("loaves", True, True),
        ("loaves", False, False),
        ("glass", False, True),
        ("people", True, True),
        ("people", False, False),
        ("data", False, True),
        ("Paris", False, True),
        ("Paris", True, True),
        ("the Alps", False, False),
        ("HTTPS", True, False),
        ("Tokyo and New York", True, True),
        ("rye or oats", True, False),
        ("the price of loaves", True, False),
    ],
)
def test_number_of_noun_phrases(phrase: str, plural: bool, expected: bool) -> None:
    """The head of a phrase determines its number; some nouns and names have both."""
    assert is_agreeing(phrase, plural=plural) is expected


def test_replaced_phrases_are_excluded() -> None:
    """A second pronoun refers to a noun phrase of the other number."""
    assert NounPhrases("rye", "loaves", ("oats",)).exclude("rye") == NounPhrases("", "loaves", ("oats",))
    assert NounPhrases("loaves", "rye").exclude("loaves") == NounPhrases("", "rye")


@given(st.text(max_size=200))
@settings(deadline=None)
def test_noun_phrases_occur_in_the_question(question: str) -> None:
    """For any text the noun phrases are parts of it."""
    found = find_noun_phrases(question)

    assert found.subject in " ".join(question.split())
    assert found.object in " ".join(question.split())
