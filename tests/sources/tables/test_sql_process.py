"""Queries in a process of their own."""

import os
from pathlib import Path

import pytest

from tenure.sources.tables.sql_engine import SqlError, SqlLimits
from tenure.sources.tables.sql_process import describe_tables, run_select
from tests.sources.packages import wide_xlsx
from tests.sources.table_files import inserted, opened, sqlite, table_file


def test_an_answer_crosses_the_process(tmp_path: Path) -> None:
    """Rows, columns and descriptions come back as they were."""
    files = opened(table_file(tmp_path, "sales.csv"))

    result = run_select(files, "SELECT region, revenue FROM sales ORDER BY day LIMIT 1", SqlLimits())
    (table,) = describe_tables(files, SqlLimits(), sample=2)

    assert (result.columns, result.rows, result.tables_read) == (("region", "revenue"), (("North", 100.5),), ("sales",))
    assert (table.name, table.row_count, len(table.sample)) == ("sales", 4, 2)
    assert table.columns[0].most_common[0] == ("North", 2)


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("DROP TABLE sales", "only SELECT is permitted"),
        ("SELECT nothing FROM sales", "nothing"),
        ("SELECT '" + "é" * 100 + "' FROM elsewhere", "there is no table"),
    ],
)
def test_a_problem_crosses_the_process(tmp_path: Path, sql: str, problem: str) -> None:
    """What was refused and what failed is told in words."""
    with pytest.raises(SqlError, match=problem):
        run_select(opened(table_file(tmp_path, "sales.csv")), sql, SqlLimits())


def test_what_does_not_hear_an_interruption_ends_with_its_process(tmp_path: Path) -> None:
    """Two huge texts are compared in a single step that nothing interrupts; the time is kept all the same."""
    huge = "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000) || region) FROM sales"

    with pytest.raises(SqlError, match="took longer than 1 s"):
        run_select(opened(table_file(tmp_path, "sales.csv")), huge, SqlLimits(seconds=1.0))


def test_a_value_that_wants_all_memory_costs_its_query(tmp_path: Path) -> None:
    """A text of more than the process may have is refused in words."""
    huge = "SELECT count(*) FROM range(100) WHERE length(repeat('x', 2000000000) || range::VARCHAR) = 1"

    with pytest.raises(SqlError, match="Out of Memory"):
        run_select(opened(table_file(tmp_path, "sales.csv")), huge, SqlLimits())


def test_values_that_are_not_what_a_column_declares_are_read_as_texts(tmp_path: Path) -> None:
    """A query over such a SQLite database is run again with all columns as texts."""
    path = table_file(tmp_path, "shop.db")
    sqlite(path, inserted({"region": "East", "product": "wine", "revenue": "unknown", "day": "2026-01-05"}))

    result = run_select(opened(path), "SELECT revenue FROM sales ORDER BY day", SqlLimits())

    assert result.rows[0] == ("100.5",) and result.rows[-1] == ("unknown",)
    with pytest.raises(SqlError, match="sum"):
        run_select(opened(path), "SELECT sum(revenue) FROM sales", SqlLimits())


def test_a_process_is_told_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of the worker are not in the environment of the process that runs other people's SQL."""
    from tenure.sources.isolation import build_child_environment

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("TENURE_ENCRYPTION_KEYS", "a:b")
    told = build_child_environment()

    assert not {name for name in told if name.startswith(("OPENAI", "TENURE"))}
    assert told["PATH"] == os.environ["PATH"]


def test_a_workbook_that_wants_all_memory_costs_its_query(tmp_path: Path) -> None:
    """A sheet as wide and high as can be ends the process that opens it, within its limit, and nothing else."""
    bomb = wide_xlsx(tmp_path / "bomb.xlsx")

    with pytest.raises(SqlError, match="it may have needed too much memory"):
        run_select(opened(bomb), "SELECT * FROM bomb.sheet1", SqlLimits())
