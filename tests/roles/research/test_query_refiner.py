"""Tests of the query refiner's fallback."""

from typing import Any

import pytest

from tenure.contracts.evidence.retrieval import QueryPurpose
from tenure.roles.base import Evidence
from tenure.roles.research.query_refiner import (
    QueryRefinerInput,
    QueryRefinerOutput,
    fallback,
    find_open_parts,
    needs_model,
    render,
)
from tests.support.passages import passage

TASK = "Where was the author of Middlemarch born?"
DONE = QueryRefinerOutput(complete=True, query="")


def refined(*texts: str, made: tuple[str, ...] = (TASK,), task: str = TASK, **others: Any) -> QueryRefinerOutput:
    passages = tuple(passage(text, title="") for text in texts)
    return fallback(QueryRefinerInput(question="q", task=task, queries=made, **others), Evidence(passages))


def asked(query: str) -> QueryRefinerOutput:
    return QueryRefinerOutput(complete=False, query=query)


def test_a_new_name_gives_the_next_query() -> None:
    """The next query combines a name with the open part of the task."""
    assert refined("The author of Middlemarch was George Eliot.") == asked("Where was George Eliot born?")


def test_a_later_hop_uses_the_last_query() -> None:
    """The next query is based on the last one."""
    made = (TASK, "Where was George Eliot born?")

    assert refined("George Eliot was raised in Nuneaton.", made=made) == asked("Where was Nuneaton born?")


def test_without_queries_the_task_is_used() -> None:
    """If there is no query yet, names are searched for the task itself."""
    assert refined("The author of Middlemarch was George Eliot.", made=()) == asked("Where was George Eliot born?")


def test_earlier_queries_are_not_repeated() -> None:
    """A name that gives an earlier query is skipped."""
    words = " ".join(f"crumb{n}" for n in range(40))
    texts = ("A crumb39 is on Eliot Street.", f"A {', '.join(f'crumb{n}' for n in range(32, 40))} of Nuneaton.")
    found = refined(texts[0], *[""] * 60, texts[1], made=(words,), task=words)

    assert found.query.endswith("crumb31 Nuneaton")


def test_without_new_names_the_search_is_complete() -> None:
    """Without passages or new names there is no next query."""
    assert refined() == refined("the author was born") == DONE


def test_a_long_query_is_shortened() -> None:
    """A query has a maximum length, whatever the task."""
    assert len(refined("Rye by George Eliot.", task="author of rye " * 700, purpose="supporting").query) <= 1000


def test_a_task_is_reworded_with_shared_words() -> None:
    """Words that passages share are added to the task; without shared words there is no query."""
    texts = ("Dough ferments.", "Dough is warm when it ferments.")

    assert refined(*texts, task="bread", made=("bread",), purpose="reword") == asked("bread (dough, ferments)")
    assert refined("Dough.", "Yeast.", task="bread", made=("bread",), purpose="reword") == DONE


def test_a_task_is_narrowed_to_a_group() -> None:
    """The title and the heading of the best passage are put before the task; without passages there is no query."""
    titled = Evidence((passage("Dough.", title="Sourdough", headings=("Care", "Feeding")), passage("Yeast.")))
    narrow = QueryRefinerInput(question="q", task="bread", queries=("bread",), purpose="narrow")

    assert fallback(narrow, titled) == asked("Sourdough, Feeding: bread")
    assert refined(task="bread", made=("bread",), purpose="narrow") == DONE


@pytest.mark.parametrize(("purpose", "word"), [("supporting", "favour"), ("contradicting", "against")])
def test_queries_for_and_against_a_position(purpose: QueryPurpose, word: str) -> None:
    """Words that are typical of such evidence are added to the task."""
    query = refined(task="Is rye better?", made=("Is rye better?",), purpose=purpose).query

    assert query.startswith("Is rye better? (evidence ") and word in query


@pytest.mark.parametrize(
    ("text", "made", "purpose", "expected"),
    [
        ("Rye bread is baked.", (), "reword", ("Gouda ripens",)),
        ("Rye bread is baked, and Gouda ripens.", (), "reword", ()),
        ("Rye bread is baked.", ("How does Gouda ripen?",), "reword", ()),
        ("Rye bread of Lyon. Gouda.", (), "next_hop", ("How is rye bread baked",)),
    ],
)
def test_parts_without_a_passage_are_open(
    text: str, made: tuple[str, ...], purpose: QueryPurpose, expected: tuple[str, ...]
) -> None:
    """A part is open until a passage or a further query speaks of it; a hop needs most of its words in one passage."""
    task = "How is rye bread baked, and Gouda ripens?"
    input = QueryRefinerInput(question="q", task=task, queries=(task, *made), purpose=purpose)

    assert set(expected) <= set(find_open_parts(input, Evidence((passage(text, title=""),))))
    assert bool(expected) == bool(find_open_parts(input, Evidence((passage(text, title=""),))))


def test_a_heading_speaks_of_its_passages() -> None:
    """A name that only the heading above a passage has is no open part."""
    input = QueryRefinerInput(question="q", task="How does Gouda ripen?", queries=("How does Gouda ripen?",))
    text = "It ripens on boards of spruce."

    assert "Gouda" in find_open_parts(input, Evidence((passage(text, title="Cheese"),)))
    assert find_open_parts(input, Evidence((passage(text, title="Cheese", headings=("Gouda",)),))) == ()


def test_a_model_is_asked_for_open_parts_alone() -> None:
    """With the rule for open parts no model is needed if there is none, and then the search is complete."""
    task = "How does rye bread rise?"
    known, unknown = Evidence((passage("Rye bread rises."),)), Evidence((passage("Granite is hard."),))
    plain = QueryRefinerInput(question="q", task=task, queries=(task,), purpose="reword")
    ruled = plain.model_copy(update={"only_open_parts": True})

    assert needs_model(plain, known) and needs_model(ruled, unknown)
    assert not needs_model(ruled, known)
    assert fallback(ruled, known) == DONE


def test_the_prompt_names_open_parts() -> None:
    """The prompt lists the parts without a passage, unless the query is for one side of a position."""
    task = "Does rye bread rise?"
    evidence = Evidence((passage("Granite is hard."),))
    input = QueryRefinerInput(question="q", task=task, queries=(task, "sourdough"))

    user = render(input, evidence)[1].content
    assert "No passage speaks of:\n- Does rye bread rise" in user
    assert "<queries>\nQueries made besides the task itself:\n- sourdough\n</queries>" in user
    sided = render(input.model_copy(update={"purpose": "supporting"}), evidence)[1].content
    assert "No passage speaks of" not in sided
