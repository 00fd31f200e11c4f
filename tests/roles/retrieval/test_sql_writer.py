"""Tests of the SQL writer's fallback."""

import pytest

from tenure.contracts.evidence.tables import FailedQuery
from tenure.roles.base import Evidence
from tenure.roles.retrieval.sql_writer import SqlWriterInput, SqlWriterOutput, fallback, render
from tests.roles.cases import SALES


def write(question: str, *failed: FailedQuery) -> SqlWriterOutput:
    return fallback(SqlWriterInput(question=question, tables=(SALES,), failed_queries=failed), Evidence())


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("SELECT town, sum(sold) FROM sales GROUP BY town", "SELECT town, sum(sold) FROM sales GROUP BY town"),
        ("What does `SELECT max(sold) FROM sales` say?", "SELECT max(sold) FROM sales"),
        ("WITH a AS (SELECT 1) SELECT * FROM a; and why?", "WITH a AS (SELECT 1) SELECT * FROM a"),
        ("How many sales are there by town?", None),
        ("Select a town from the sales.", None),
    ],
)
def test_a_statement_of_the_question_is_taken(question: str, sql: str | None) -> None:
    """A SELECT in the question is the query; a question in words has none."""
    assert [query.sql for query in write(question).queries] == ([sql] if sql else [])


def test_a_failed_statement_is_not_repeated() -> None:
    """The reason of the failure is reported instead."""
    failed = write("SELECT x FROM sales", FailedQuery(sql="SELECT x FROM sales", problem="no column x"))

    assert (failed.queries, failed.unexpressed) == ((), "no column x")


def test_the_question_of_earlier_queries_is_shown() -> None:
    """A task of a run is asked for what the question of the run did not ask for."""
    asked = SqlWriterInput(question="Sold in Rome?", tables=(SALES,))
    later = asked.model_copy(update={"earlier_question": "Sold by town?"})

    assert "<earlier_questions>" not in render(asked, Evidence())[1].content
    assert "<earlier_questions>\nSold by town?\n</earlier_questions>" in render(later, Evidence())[1].content
