"""Tables and results as documents."""

from pathlib import Path

import pytest

from tenure.algorithms.text.excerpts import extract_excerpts
from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.parse import parse_file
from tenure.sources.parsers.table_text import build_result_document, describe_table_file, format_value
from tenure.sources.tables.catalogue import CellValue, ResultTable
from tests.passages import passage
from tests.sources.table_files import NAMES, sqlite, table_file

TOWNS = ResultTable(("town", "total_sold"), (("Rome", 12), ("Bath", 3.5), (None, None)))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_tables_is_described(name: str, tmp_path: Path) -> None:
    """Whatever the format, the document tells columns, figures and rows in sentences that can be quoted."""
    document = parse_file(table_file(tmp_path, name))
    table = "shop.sales" if name.startswith("shop") else "sales"

    assert (document.title, document.kind) == (name.partition(".")[0], "prose")
    assert f"The table {table} has 4 rows and the columns region, product, revenue and day." in document.text
    assert "holds numbers from 50 to 200, with a mean of 116.8333 and a sum of 350.5; 1 row has none." in document.text
    assert "holds 3 different texts: North (2 rows), South (1 row) and West (1 row)." in document.text
    assert "| South | cheese | 200 | 2026-01-02 |" in document.text
    assert len(extract_excerpts([passage(document.text)])) >= 4


def test_a_long_table_shows_its_first_rows(tmp_path: Path) -> None:
    """Beyond two hundred rows the document says that there are more."""
    path = tmp_path / "long.csv"
    path.write_text("n,word\n" + "\n".join(f"{number},w{number}" for number in range(1000)))
    text = parse_file(path).text

    assert "The table long has 1000 rows" in text
    assert "These are the first 200 rows of long:" in text
    assert "| 199 | w199 |" in text and "| 200 | w200 |" not in text
    assert "1000 different texts, most often w0 (1 row)" in text


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("note.csv", b"just a line\n", "just a line"),
        ("log.jsonl", b'{"a": 1\nnot json\n', "not json"),
        ("head.csv", b"x,y", "| x | y |"),
    ],
)
def test_a_text_that_is_no_table_is_read_as_text(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    """Lines are worth reading even where they make no table."""
    (tmp_path / name).write_bytes(content)

    assert expected in parse_file(tmp_path / name).text


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.parquet", b"PAR1 nothing", "holds no table that can be read"),
        ("a.db", b"\x00\x01\x02", "is a binary file"),
        ("a.sqlite", b"SQLite format 3\x00 and then nonsense", "holds no table that can be read"),
        ("a.csv", b"", "is empty"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    """Damaged and foreign files are refused with their reason."""
    (tmp_path / name).write_bytes(content)

    with pytest.raises(Unreadable, match=reason):
        parse_file(tmp_path / name)


def test_a_database_without_rows_is_not_read(tmp_path: Path) -> None:
    """There is nothing to say about empty tables."""
    with pytest.raises(Unreadable, match="no rows"):
        describe_table_file(sqlite(tmp_path / "a.db", "CREATE TABLE t (n INT)"))


def test_rows_of_a_result_are_told_and_shown() -> None:
    """Several rows are a list that is quoted whole, under what they show; the table and the query follow."""
    document = build_result_document("Sold by town", "SELECT 1", "sales.csv", TOWNS)

    assert document.text == (
        "Sold by town, as the query returned it:\n\n"
        "- For town Rome, the total sold is 12\n"
        "- For town Bath, the total sold is 3.5\n"
        "- For town not given, the total sold is not given\n\n"
        "| town | total_sold |\n| Rome | 12 |\n| Bath | 3.5 |\n\n"
        "Result of a query over sales.csv: 3 rows.\n\n    SELECT 1"
    )
    assert extract_excerpts([passage(document.text)])[0].kind == "list"


def test_a_single_row_is_one_sentence() -> None:
    """What a lone figure is of stands in its sentence."""
    text = build_result_document("Mean price in shops.", "SELECT 1", "a", ResultTable(("mean_price",), ((2.5,),))).text

    assert text.startswith("Mean price in shops: the mean price is 2.5.\n\n")
    assert "Result of a query over a: 1 row." in text


def test_no_rows_and_too_many_are_said() -> None:
    """An empty result says so, and one that was cut says that as well; long ones are told in several lists."""
    empty = build_result_document("Nothing", "SELECT 1", "a", ResultTable(("n",), ()))
    long = build_result_document(
        "All", "SELECT 1", "a", ResultTable(("n", "m"), tuple((n, n) for n in range(30)), True)
    )

    assert empty.text.startswith("Nothing: the query returned no rows.")
    assert "All, rows 9 to 16, as the query returned it:" in long.text
    assert "30 rows or more; further rows are omitted." in long.text
    assert "- For n 24," not in long.text and "| 29 | 29 |" in long.text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (12, "12"),
        (1234567.0, "1234567"),
        (0.1 + 0.2, "0.3"),
        (0.00001234, "1.234e-05"),
        (0.0, "0"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_cell_is_a_line_of_text(value: CellValue, expected: str) -> None:
    """Numbers lose the noise of their last digits, and texts their line ends."""
    assert format_value(value) == expected
