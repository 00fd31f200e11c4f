"""The query refiner's twin."""

from typing import Any

import pytest

from tenure.contracts.evidence.retrieval import Purpose
from tenure.roles.base import Evidence
from tenure.roles.research.query_refiner import QueryRefinerInput, QueryRefinerOutput, offline
from tests.passages import passage

TASK = "Where was the author of Middlemarch born?"
DONE = QueryRefinerOutput(complete=True, query="")


def refined(*texts: str, made: tuple[str, ...] = (TASK,), task: str = TASK, **others: Any) -> QueryRefinerOutput:
    passages = tuple(passage(text, title="") for text in texts)
    return offline(QueryRefinerInput(question="q", task=task, made=made, **others), Evidence(passages))


def asked(query: str) -> QueryRefinerOutput:
    return QueryRefinerOutput(complete=False, query=query)


def test_a_name_that_came_up_leads_on() -> None:
    """The next query asks about the name what its sentence left open."""
    assert refined("The author of Middlemarch was George Eliot.") == asked("George Eliot born")


def test_a_later_hop_goes_on_from_the_one_before() -> None:
    """What the last query asked for is what is looked for next."""
    made = (TASK, "George Eliot born")

    assert refined("George Eliot was raised in Nuneaton.", made=made) == asked("Nuneaton born")


def test_a_task_without_queries_is_its_first_one() -> None:
    """Where nothing was asked yet, names are taken for the task itself."""
    assert refined("The author of Middlemarch was George Eliot.", made=()) == asked("George Eliot born")


def test_a_query_that_was_made_is_not_made_again() -> None:
    """A name whose words make no other query is passed over for the next one."""
    words = " ".join(f"crumb{n}" for n in range(40))
    texts = ("A crumb3 is on Eliot Street.", "A crumb2, crumb4, crumb5, crumb6, crumb7, crumb8, crumb9 of Nuneaton.")
    found = refined(texts[0], *[""] * 60, texts[1], made=(words,), task=words)

    assert found.query.startswith("Nuneaton crumb0")


def test_without_new_names_the_search_is_at_its_end() -> None:
    """Where nothing was found, or nothing new, no query follows."""
    assert refined() == refined("the author was born") == DONE


def test_a_very_long_task_is_cut() -> None:
    """A query keeps to its bound whatever the task."""
    assert len(refined("Rye by George Eliot.", task="author of rye " * 700, purpose="supporting").query) <= 1000


def test_a_task_is_reworded_with_what_was_found() -> None:
    """Words that passages share join the task; where they share none, there is nothing to add."""
    texts = ("Dough ferments.", "Dough is warm when it ferments.")

    assert refined(*texts, task="bread", made=("bread",), purpose="reword") == asked("bread dough ferments")
    assert refined("Dough.", "Yeast.", task="bread", made=("bread",), purpose="reword") == DONE


def test_a_group_is_asked_about_what_it_shares() -> None:
    """Its common words stand before the task, its best title where it has none; no passage makes no query."""
    titled = Evidence((passage("Dough.", title="Sourdough"), passage("Yeast.")))
    narrow = QueryRefinerInput(question="q", task="bread", made=("bread",), purpose="narrow")

    assert refined("A warm oven.", "Warm.", task="bread", made=("bread",), purpose="narrow") == asked("warm: bread")
    assert offline(narrow, titled) == asked("Sourdough: bread")
    assert refined(task="bread", made=("bread",), purpose="narrow") == DONE


@pytest.mark.parametrize(("purpose", "word"), [("supporting", "favour"), ("contradicting", "against")])
def test_a_position_is_asked_about_from_a_side(purpose: Purpose, word: str) -> None:
    """The task goes along with words that such evidence has."""
    query = refined(task="Is rye better?", made=("Is rye better?",), purpose=purpose).query

    assert query.startswith("Is rye better? evidence ") and word in query
