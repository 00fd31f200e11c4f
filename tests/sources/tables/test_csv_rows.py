"""Tests of the rows of CSV files."""

from pathlib import Path

import pytest

from tenure.sources.tables.catalogue import Column, Table
from tenure.sources.tables.csv_rows import locate_rows, read_records

TABLE = Table("t", (Column("item", "text"), Column("price", "number")), 2, (("Rye", 4), ("Oats", 2)))


@pytest.mark.parametrize(
    ("text", "header", "rows"),
    [
        ("item;price\nRye;4\nOats;2\n", 1, (2, 3)),
        ("A title\n\nitem\tprice\nRye\t4\n\nOats\t2\n", 3, (4, 6)),
        ("Rye,4\nOats,2\n", None, (1, 2)),
    ],
)
def test_rows_have_the_numbers_that_a_spreadsheet_program_shows(
    tmp_path: Path, text: str, header: int | None, rows: tuple[int, ...]
) -> None:
    """Titles and blank records count, whatever the separator is; a file may have no header."""
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")

    origin = locate_rows(path, TABLE)

    assert origin is not None
    assert (origin.sheet, origin.columns, origin.header, origin.rows) == ("", (1, 2), header, rows)


@pytest.mark.parametrize(
    "text", ["item,price\nOats,4\nRye,2\n", "item,price\nRye,4\n", "item,price\nRye,4\nOats,\xff\n"]
)
def test_rows_in_another_order_have_no_place(tmp_path: Path, text: str) -> None:
    """Other or fewer rows than the engine read have no place; a file in another encoding has none either."""
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode("latin-1"))

    assert locate_rows(path, TABLE) is None


def test_records_may_contain_line_breaks(tmp_path: Path) -> None:
    """A quoted cell of two lines is in one row."""
    path = tmp_path / "a.csv"
    path.write_text('item,price\n"Rye,\ndark",4\n', encoding="utf-8")

    assert list(read_records(path)) == [["item", "price"], ["Rye,\ndark", "4"]]
