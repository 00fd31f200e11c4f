"""Tests of the SQL writer's fallback."""

from tenure.contracts.evidence.tables import FailedQuery
from tenure.roles.base import Evidence
from tenure.roles.retrieval.sql_writer import SqlWriterInput, fallback, render
from tests.roles.cases import SALES


def queries(question: str, *failed: FailedQuery) -> tuple[str, ...]:
    found = fallback(SqlWriterInput(question=question, tables=(SALES,), failed_queries=failed), Evidence())
    return tuple(query.shows for query in found.queries)


def test_each_part_of_a_question_may_become_a_query() -> None:
    """Joined questions are converted one by one, and an unclear part is omitted."""
    asked = "How many sales are there by town, what is the average sold, and why does it rain?"

    assert queries("How many sales are there by town?") == ("Number of rows by town in sales",)
    assert queries("How many sales are there by town, and what is the highest sold in Rome?") == (
        "Number of rows by town in sales",
        "Highest sold in sales, town Rome",
    )
    assert queries(asked) == ("Average sold by town in sales",)


def test_after_a_failure_there_is_no_query() -> None:
    """The fallback has no second query."""
    assert queries("How many sales are there by town?", FailedQuery(sql="SELECT 1", problem="no")) == ()


def test_the_question_of_earlier_queries_is_shown() -> None:
    """A task of a run is asked for what the question of the run did not ask for."""
    asked = SqlWriterInput(question="Sold in Rome?", tables=(SALES,))
    later = asked.model_copy(update={"earlier_question": "Sold by town?"})

    assert "<earlier_questions>" not in render(asked, Evidence())[1].content
    assert "<earlier_questions>\nSold by town?\n</earlier_questions>" in render(later, Evidence())[1].content
