"""Tests of questions in natural wording: the engine returns the figures that Python computes from the same rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.algorithms.tables.translation import Translation, translate_question
from tenure.contracts.evidence.tables import TableInfo
from tenure.knowledge.tables.column_probe import probe_columns
from tenure.knowledge.tables.queries import to_table_info
from tenure.sources.tables.catalogue import Database, ResultTable, list_databases
from tenure.sources.tables.pinned_files import open_databases
from tenure.sources.tables.sql_engine import SqlEngine, SqlLimits
from tests.knowledge.tables.question_sets import CASES, NEW_CASES, TableCase, write_tables

LIMITS = SqlLimits(seconds=30.0, rows=200, memory_mb=512)

QUESTIONS = [
    pytest.param(name, case, id=case.question)
    for sets in (CASES, NEW_CASES)
    for name, cases in sets.items()
    for case in cases
]


class OpenTable:
    """A file of tables, opened once for all questions."""

    def __init__(self, path: Path) -> None:
        self.databases = list_databases([str(path)])
        self._pinned = open_databases(self.databases)
        pinned = self._pinned.__enter__()
        self.engine = SqlEngine(pinned.databases, LIMITS, as_text=False, problems=pinned.problems)
        self.tables = self.engine.describe_tables(sample=0)

    def select(self, databases: list[Database], sql: str, limits: SqlLimits) -> ResultTable:
        """Run a statement in this process instead of a new one."""
        return self.engine.run_select(sql)

    def describe(self, question: str) -> tuple[TableInfo, ...]:
        """Return the tables as the translation sees them."""
        probed = probe_columns(question, self.tables, self.databases, LIMITS, self.select)
        return tuple(to_table_info(table, probed) for table in self.tables)

    def translate(self, question: str) -> Translation:
        """Translate a question."""
        return translate_question(question, self.describe(question))

    def close(self) -> None:
        """Close the file."""
        self.engine.close()
        self._pinned.__exit__(None, None, None)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, OpenTable]]:
    """Opened tables by name."""
    opened = {name: OpenTable(path) for name, path in write_tables(tmp_path_factory.mktemp("tables")).items()}
    yield opened
    for table in opened.values():
        table.close()


def extract_answer(case: TableCase, result: ResultTable) -> Any:
    """Return the answer of a result in the form of a case."""
    rows = result.rows
    if case.form == "groups":
        return {_to_number(row[0]): pytest.approx(row[-1]) for row in rows}
    if case.form == "rows":
        return [row[0] for row in rows]
    cell = rows[0][-1] if case.form == "figure" else rows[0][0]
    return pytest.approx(cell) if isinstance(cell, float) else cell


def _to_number(cell: Any) -> Any:
    return int(cell) if isinstance(cell, str) and cell.isdigit() else cell


@pytest.mark.parametrize(("name", "case"), QUESTIONS)
def test_questions_give_the_right_figure(name: str, case: TableCase, tables: dict[str, OpenTable]) -> None:
    """The query of a question returns the figure, and a question that cannot be expressed has no query."""
    translation = tables[name].translate(case.question)

    if case.form == "none":
        assert translation.query is None
        return
    assert translation.query is not None, translation.reason
    result = tables[name].engine.run_select(translation.query.sql)
    assert extract_answer(case, result) == case.answer, (translation.query, result.rows[:3])


FRAGMENTS = (
    *("total", "average", "how many", "highest", "top 3", "share of", "which", "median", "by", "per", "and", "not"),
    *("revenue", "units", "unit price", "orders", "region", "product", "order date", "month", "year", "quarter"),
    *("North", "East", "Laptop", "desk lamps", "in 2022", "between 2021 and 2023", "since March 2022", "in May"),
    *("more than 5", "under 100", "grew fastest", "grew", "declined most", "what is the", "of the", "for each"),
    *("on 2022-05-03", "the first half of 2023", "most", "fewest", "excluding", "average monthly", "combined"),
)


@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=7))
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_query_can_be_executed(tables: dict[str, OpenTable], fragments: list[str]) -> None:
    """Whatever is asked, the translation gives a query that the engine permits and executes, or none."""
    translation = tables["sales"].translate(" ".join(fragments))

    assert translation.query is None or not translation.reason
    if translation.query is not None:
        assert tables["sales"].engine.run_select(translation.query.sql).columns
