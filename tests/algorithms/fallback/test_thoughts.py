"""Where a line of thought can go, and what a thought is worth."""

import pytest

from tenure.algorithms.fallback.thoughts import classify_leaning, evaluate_thoughts, find_next_hop, propose_thoughts
from tests.passages import passage
from tests.worlds import encode

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
def test_a_sentence_leans_only_where_it_plainly_does(text: str, side: str) -> None:
    """Words of both sides, of none, and words that are denied leave it open."""
    assert classify_leaning(text) == side


def test_both_sides_begin() -> None:
    """The ways to begin speak for and against in turn; what takes no side is none."""
    passages = [passage(f"{BETTER} {PLAIN}"), passage(HARDER, "b")]
    found = propose_thoughts(QUESTION, (), passages, 3, encode)

    assert [(way.kind, way.text, way.passage) for way in found] == [("for", BETTER, 1), ("against", HARDER, 2)]
    assert [way.text for way in propose_thoughts(QUESTION, (), passages, 1, encode)] == [BETTER]


def test_a_thought_goes_on_by_what_it_says_itself() -> None:
    """A way on shares words with the last thought that the question lacks, and is none that was thought before."""
    passages = [passage(BETTER), passage(HARDER, "b"), passage(CRUST, "c")]

    assert [way.text for way in propose_thoughts(QUESTION, (BETTER,), passages, 3, encode)] == [CRUST]
    assert propose_thoughts(QUESTION, (CRUST, BETTER), passages, 3, encode) == ()


def test_a_thought_is_worth_what_it_has_to_do_with_the_question() -> None:
    """Nearness counts, and a thought that is said again is worth nothing."""
    near, far, again = evaluate_thoughts(QUESTION, [HARDER, "Milk is made by cows.", HARDER], encode)

    assert near.score > far.score == 0.0 == again.score
    assert again.reason == "it repeats another thought"


AUTHOR = "The novel Middlemarch was written by George Eliot."
BORN = "George Eliot was born in Nuneaton in the county of Warwick."
CHAIN = "Where was the author of the novel Middlemarch born who had written it?"


def test_a_hop_finds_a_fact_and_the_name_that_leads_on() -> None:
    """The first fact names who the next question is about, and the last one completes the chain."""
    first = find_next_hop(CHAIN, (), "", [passage(AUTHOR, "m", title="Middlemarch"), passage(BORN, "e", title="Eliot")])
    assert first.fact is not None
    assert (first.fact.text, first.link, first.is_complete) == (AUTHOR, "George Eliot", False)
    assert "George Eliot" in first.query and "born" in first.query

    second = find_next_hop(CHAIN, (AUTHOR,), first.link, [passage(BORN, "e", title="Eliot")])
    assert second.fact is not None
    assert (second.fact.text, second.link, second.is_complete) == (BORN, "", True)


def test_a_hop_without_a_fact_ends_the_chain() -> None:
    """Nothing that is about the question or the link, and nothing new, is no fact."""
    assert find_next_hop(CHAIN, (), "", [passage("Swallows are said to sleep in the mud of the pond.")]).fact is None
    assert find_next_hop(CHAIN, (AUTHOR,), "George Eliot", [passage(AUTHOR, title="Middlemarch")]).fact is None
    assert find_next_hop(CHAIN, (), "", []).is_complete


def test_a_question_without_names_is_begun_by_its_words() -> None:
    """Where the question names nothing, the statement that says most of it is the first fact."""
    found = find_next_hop(
        "which bread is made with a sourdough", (), "", [passage("Rye bread is made with a sourdough.")]
    )

    assert found.fact is not None and found.is_complete
