"""Tests of names of tables."""

from pathlib import PurePath

import pytest

from tenure.sources.tables.catalogue import detect_table_format, list_databases, to_sql_identifier


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.csv", "csv"), ("A.CSV", "csv"), ("a.ndjson", "jsonl"), ("a.db", "sqlite"), ("a.md", None), ("csv", None)],
)
def test_the_format_is_detected_by_the_suffix(name: str, expected: str | None) -> None:
    """The case of the suffix does not matter."""
    assert detect_table_format(PurePath(name)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Sales 2026", "sales_2026"), ("2026", "t_2026"), ("über-all!", "ber_all"), ("---", "table")],
)
def test_a_name_needs_no_quotes(text: str, expected: str) -> None:
    """Names are lower-case identifiers of SQL."""
    assert to_sql_identifier(text) == expected


def test_files_of_the_same_name_get_different_names() -> None:
    """Suffixes are added first, then as many folders as necessary."""
    found = list_databases(
        ["/d/a/sales.csv", "/d/b/sales.csv", "/d/b/towns.csv", "/d/x.csv", "/d/x.parquet", "/d/n.md"]
    )

    assert [database.name for database in found] == ["a_sales_csv", "b_sales_csv", "towns", "x_csv", "x_parquet"]


def test_equal_identifiers_get_different_names() -> None:
    """Paths with equal identifiers get different names if a folder differs."""
    found = list_databases(["/d/e/a b.csv", "/d/f/a-b.csv", "/d/f/a-b.csv"])

    assert len({database.name for database in found}) == len(found) == 2
