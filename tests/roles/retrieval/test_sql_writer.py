"""The SQL writer's twin."""

from tenure.contracts.evidence.tables import FailedQuery
from tenure.roles.base import Evidence
from tenure.roles.retrieval.sql_writer import SqlWriterInput, offline
from tests.roles.cases import SALES


def queries(question: str, *failed: FailedQuery) -> tuple[str, ...]:
    found = offline(SqlWriterInput(question=question, tables=(SALES,), failed=failed), Evidence())
    return tuple(query.shows for query in found.queries)


def test_each_part_of_a_question_may_become_a_query() -> None:
    """Joined questions are asked one by one, and a part that leaves doubt is left out."""
    asked = "How many sales are there by town, what is the average sold, and why does it rain?"

    assert queries("How many sales are there by town?") == ("Number of rows by town in sales",)
    assert queries("How many sales are there by town, and what is the highest sold in Rome?") == (
        "Number of rows by town in sales",
        "Highest sold in sales, town Rome",
    )
    assert queries(asked) == ()


def test_a_query_that_failed_is_not_written_again() -> None:
    """The twin has no second idea."""
    assert queries("How many sales are there by town?", FailedQuery(sql="SELECT 1", problem="no")) == ()
