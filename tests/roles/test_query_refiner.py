"""The query refiner's twin."""

from tenure.roles.base import Evidence
from tenure.roles.query_refiner import QueryRefinerInput, QueryRefinerOutput, offline
from tests.passages import passage

TASK = "Where was the author of Middlemarch born?"
DONE = QueryRefinerOutput(complete=True, query="")


def refined(*texts: str, made: tuple[str, ...] = (TASK,), task: str = TASK) -> QueryRefinerOutput:
    passages = tuple(passage(text, title="") for text in texts)
    return offline(QueryRefinerInput(question="q", task=task, made=made), Evidence(passages))


def test_a_name_that_came_up_leads_on() -> None:
    """The next query is the task with the name that no query had."""
    found = refined("The author of Middlemarch was George Eliot.")

    assert found == QueryRefinerOutput(complete=False, query=f"George Eliot: {TASK}")


def test_a_query_that_was_made_is_not_made_again() -> None:
    """A name whose words make no other query is passed over for the next one."""
    words = "author Middlemarch born one two three four five six seven eight nine ten eleven twelve"
    texts = ("The author of Middlemarch was Eliot.", "Near is the Nuneaton Bridge Tower.")

    assert refined(*texts, made=(words,), task=words).query == f"Nuneaton Bridge Tower: {words}"


def test_without_new_names_the_search_is_at_its_end() -> None:
    """Where nothing was found, or nothing new, no query follows."""
    assert refined() == refined("the author was born") == DONE
    made = (TASK, "George Eliot: Where was the author of Middlemarch born?")
    assert refined("The author of Middlemarch was George Eliot.", made=made) == DONE


def test_a_very_long_task_is_cut() -> None:
    """A query keeps to its bound whatever the task."""
    assert len(refined("By George Eliot.", task="author of rye " * 700).query) <= 1000
