"""Names of tables."""

from pathlib import PurePath

import pytest

from tenure.sources.tables.catalogue import detect_table_format, list_databases, to_sql_identifier


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.csv", "csv"), ("A.CSV", "csv"), ("a.ndjson", "jsonl"), ("a.db", "sqlite"), ("a.md", None), ("csv", None)],
)
def test_the_suffix_promises_a_table(name: str, expected: str | None) -> None:
    """The format comes from the suffix, whatever its case."""
    assert detect_table_format(PurePath(name)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Sales 2026", "sales_2026"), ("2026", "t_2026"), ("über-all!", "ber_all"), ("---", "table")],
)
def test_a_name_needs_no_quotes(text: str, expected: str) -> None:
    """Names are lower-case words that SQL takes as they are."""
    assert to_sql_identifier(text) == expected


def test_files_of_one_name_are_told_apart() -> None:
    """Suffixes come before folders, and folders are added as far as it takes."""
    found = list_databases(
        ["/d/a/sales.csv", "/d/b/sales.csv", "/d/b/towns.csv", "/d/x.csv", "/d/x.parquet", "/d/n.md"]
    )

    assert [database.name for database in found] == ["a_sales_csv", "b_sales_csv", "towns", "x_csv", "x_parquet"]


def test_names_that_only_look_different_are_told_apart_as_well() -> None:
    """Paths whose names come out alike get different ones as long as a folder differs."""
    found = list_databases(["/d/e/a b.csv", "/d/f/a-b.csv", "/d/f/a-b.csv"])

    assert len({database.name for database in found}) == len(found) == 2
