"""Tests of queries in a separate process."""

import os
from pathlib import Path

import pytest

from tenure.sources.sql_process import describe_tables, run_select
from tenure.sources.tables.sql_engine import SqlError, SqlLimits
from tests.sources.packages import wide_xlsx
from tests.sources.table_files import inserted, opened, sqlite, table_file
from tests.support.tiers import slow


def test_results_are_returned(tmp_path: Path) -> None:
    """Rows, columns and descriptions are returned unchanged."""
    files = opened(table_file(tmp_path, "sales.csv"))

    result = run_select(files, "SELECT region, revenue FROM sales ORDER BY day LIMIT 1", SqlLimits())
    (table,) = describe_tables(files, SqlLimits(), sample=2)

    assert (result.columns, result.rows, result.tables_read) == (("region", "revenue"), (("North", 100.5),), ("sales",))
    assert (table.name, table.row_count, len(table.sample)) == ("sales", 4, 2)
    assert table.columns[0].most_common[0] == ("North", 2)


@slow
@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("DROP TABLE sales", "only SELECT is permitted"),
        ("SELECT nothing FROM sales", "nothing"),
        ("SELECT '" + "é" * 100 + "' FROM elsewhere", "there is no table"),
    ],
)
def test_errors_are_returned(tmp_path: Path, sql: str, problem: str) -> None:
    """Refused and failed statements are reported."""
    with pytest.raises(SqlError, match=problem):
        run_select(opened(table_file(tmp_path, "sales.csv")), sql, SqlLimits())


@slow
def test_a_stuck_statement_ends_with_its_process(tmp_path: Path) -> None:
    """The comparison of two huge texts cannot be interrupted; the time limit applies nevertheless."""
    huge = "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000) || region) FROM sales"

    with pytest.raises(SqlError, match="took longer than 1 s"):
        run_select(opened(table_file(tmp_path, "sales.csv")), huge, SqlLimits(seconds=1.0))


def test_a_huge_value_fails_only_its_query(tmp_path: Path) -> None:
    """A text above the memory limit is reported."""
    huge = "SELECT count(*) FROM range(100) WHERE length(repeat('x', 2000000000) || range::VARCHAR) = 1"

    with pytest.raises(SqlError, match="Out of Memory"):
        run_select(opened(table_file(tmp_path, "sales.csv")), huge, SqlLimits())


@slow
def test_type_mismatches_are_read_as_text(tmp_path: Path) -> None:
    """The query runs again with all columns as text."""
    path = table_file(tmp_path, "shop.db")
    sqlite(path, inserted({"region": "East", "product": "wine", "revenue": "unknown", "day": "2026-01-05"}))

    result = run_select(opened(path), "SELECT revenue FROM sales ORDER BY day", SqlLimits())

    assert result.rows[0] == ("100.5",) and result.rows[-1] == ("unknown",)
    with pytest.raises(SqlError, match="sum"):
        run_select(opened(path), "SELECT sum(revenue) FROM sales", SqlLimits())


def test_the_process_gets_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of the worker are not in the environment of the process."""
    from tenure.sources.isolation import build_child_environment

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("TENURE_ENCRYPTION_KEYS", "a:b")
    told = build_child_environment()

    assert not {name for name in told if name.startswith(("OPENAI", "TENURE"))}
    assert told["PATH"] == os.environ["PATH"]


@slow
def test_a_huge_workbook_fails_only_its_query(tmp_path: Path) -> None:
    """A sheet of maximum size ends only the process that opens it."""
    bomb = wide_xlsx(tmp_path / "bomb.xlsx")

    with pytest.raises(SqlError, match="it may have needed too much memory"):
        run_select(opened(bomb), "SELECT * FROM bomb.sheet1", SqlLimits())
