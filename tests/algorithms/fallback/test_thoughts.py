"""Tests of thoughts and hops."""

import pytest

from tenure.algorithms.fallback.thoughts import classify_leaning, evaluate_thoughts, find_next_hop, propose_thoughts
from tests.support.passages import passage
from tests.support.worlds import encode

QUESTION = "Is sourdough bread worth the work?"
BETTER = "The work on sourdough bread is worth it, with a better crust after a cold night."
HARDER = "The work on sourdough bread is harder than with yeast."
CRUST = "A better crust after a cold night makes the work on sourdough bread easy."
PLAIN = "Sourdough bread is made from flour by work."


@pytest.mark.parametrize(
    ("text", "side"),
    [
        (BETTER, "for"),
        (HARDER, "against"),
        (PLAIN, "point"),
        ("It is better, but the risk is higher.", "point"),
        ("It is not better.", "point"),
    ],
)
def test_leaning_of_sentences(text: str, side: str) -> None:
    """Words of both sides, of none, and negated words are neutral."""
    assert classify_leaning(text) == side


def test_first_thoughts_alternate_sides() -> None:
    """Neutral statements are left out."""
    passages = [passage(f"{BETTER} {PLAIN}"), passage(HARDER, "b")]
    found = propose_thoughts(QUESTION, (), passages, 3, encode)

    assert [(way.kind, way.text, way.passage) for way in found] == [("for", BETTER, 1), ("against", HARDER, 2)]
    assert [way.text for way in propose_thoughts(QUESTION, (), passages, 1, encode)] == [BETTER]


def test_next_thought_shares_new_words() -> None:
    """The shared words are not in the question, and thoughts are not repeated."""
    passages = [passage(BETTER), passage(HARDER, "b"), passage(CRUST, "c")]

    assert [way.text for way in propose_thoughts(QUESTION, (BETTER,), passages, 3, encode)] == [CRUST]
    assert propose_thoughts(QUESTION, (CRUST, BETTER), passages, 3, encode) == ()


def test_thoughts_are_scored_by_similarity() -> None:
    """A duplicate has score 0."""
    near, far, again = evaluate_thoughts(QUESTION, [HARDER, "Milk is made by cows.", HARDER], encode)

    assert near.score > far.score == 0.0 == again.score
    assert again.reason == "it repeats another thought"


AUTHOR = "The novel Middlemarch was written by George Eliot."
BORN = "George Eliot was born in Nuneaton in the county of Warwick."
CHAIN = "Where was the author of the novel Middlemarch born who had written it?"


def test_hop_finds_a_fact_and_the_next_entity() -> None:
    """Hop finds a fact and the next entity."""
    first = find_next_hop(CHAIN, (), "", [passage(AUTHOR, "m", title="Middlemarch"), passage(BORN, "e", title="Eliot")])
    assert first.fact is not None
    assert (first.fact.text, first.link, first.is_complete) == (AUTHOR, "George Eliot", False)
    assert "George Eliot" in first.query and "born" in first.query

    second = find_next_hop(CHAIN, (AUTHOR,), first.link, [passage(BORN, "e", title="Eliot")])
    assert second.fact is not None
    assert (second.fact.text, second.link, second.is_complete) == (BORN, "", True)


def test_hop_without_fact_ends_the_chain() -> None:
    """Hop without fact ends the chain."""
    assert find_next_hop(CHAIN, (), "", [passage("Swallows are said to sleep in the mud of the pond.")]).fact is None
    assert find_next_hop(CHAIN, (AUTHOR,), "George Eliot", [passage(AUTHOR, title="Middlemarch")]).fact is None
    assert find_next_hop(CHAIN, (), "", []).is_complete


def test_question_without_names_starts_with_its_words() -> None:
    """Question without names starts with its words."""
    found = find_next_hop(
        "which bread is made with a sourdough", (), "", [passage("Rye bread is made with a sourdough.")]
    )

    assert found.fact is not None and found.is_complete
