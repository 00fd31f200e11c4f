"""Tests of documents from tables and query results."""

from pathlib import Path

import pytest

from tenure.contracts.evidence.places import join_places
from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.parse import parse_file
from tenure.sources.parsers.table_text import (
    build_result_document,
    describe_table_file,
    find_citable_end,
    format_value,
)
from tenure.sources.tables.catalogue import CellValue, ResultTable
from tests.sources.packages import make_xlsx
from tests.sources.table_files import NAMES, sqlite, table_file

TOWNS = ResultTable(("town", "total_sold"), (("Rome", 12), ("Bath", 3.5), (None, None)))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_tables_is_described(name: str, tmp_path: Path) -> None:
    """For every format, the document has columns, statistics and rows in quotable sentences."""
    document = parse_file(table_file(tmp_path, name))
    table = "shop.sales" if name.startswith("shop") else "sales"

    assert (document.title, document.kind) == (name.partition(".")[0], "prose")
    assert f"The table {table} has 4 rows and the columns region, product, revenue and day." in document.text
    assert "holds numbers from 50 to 200, with a mean of 116.8333 and a sum of 350.5; 1 row has none." in document.text
    assert "holds 3 different texts: North (2 rows), South (1 row) and West (1 row)." in document.text
    assert "| South | cheese | 200 | 2026-01-02 |" in document.text


def test_a_long_table_shows_its_first_rows(tmp_path: Path) -> None:
    """Above two hundred rows, the document says that there are more."""
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
def test_text_without_a_table_is_parsed_as_text(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    """Lines of text are parsed even if they form no table."""
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
def test_unreadable_files_have_a_reason(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    """Damaged and unsupported files are unreadable, each with its reason."""
    (tmp_path / name).write_bytes(content)

    with pytest.raises(Unreadable, match=reason):
        parse_file(tmp_path / name)


def test_a_database_without_rows_is_unreadable(tmp_path: Path) -> None:
    """Empty tables have no text."""
    with pytest.raises(Unreadable, match="no rows"):
        describe_table_file(sqlite(tmp_path / "a.db", "CREATE TABLE t (n INT)"))


def test_rows_of_a_result_are_sentences_and_a_table() -> None:
    """Several rows are a list that is quoted as a whole under its title; the table and the query follow."""
    document = build_result_document("Sold by town", "SELECT 1", "sales.csv", TOWNS)

    assert document.text == (
        "Sold by town, as the query returned it:\n\n"
        "- For town Rome, the total sold is 12\n"
        "- For town Bath, the total sold is 3.5\n"
        "- For town not given, the total sold is not given\n\n"
        "| town | total_sold |\n| Rome | 12 |\n| Bath | 3.5 |\n\n"
        "Result of a query over sales.csv: 3 rows.\n\n    SELECT 1"
    )


def test_rows_that_are_all_sentences_make_the_table_superfluous() -> None:
    """The citable part of a result ends with its sentences; with cut or omitted rows there is no such end."""
    document = build_result_document("Sold by town", "SELECT 1", "sales.csv", TOWNS)
    end = find_citable_end("Sold by town", TOWNS)

    assert end is not None
    assert document.text[:end].endswith("- For town not given, the total sold is not given")
    assert find_citable_end("All", ResultTable(("n",), tuple((n,) for n in range(25)))) is None
    assert find_citable_end("All", ResultTable(("n",), ((1,),), True)) is None


def test_a_single_row_is_one_sentence() -> None:
    """The sentence of a single figure contains its subject."""
    text = build_result_document("Mean price in shops.", "SELECT 1", "a", ResultTable(("mean_price",), ((2.5,),))).text

    assert text.startswith("Mean price in shops: the mean price is 2.5.\n\n")
    assert "Result of a query over a: 1 row." in text


def test_empty_and_truncated_results_are_marked() -> None:
    """Empty and truncated results are marked; long results have several lists."""
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
    """Numbers are rounded, and texts have no line breaks."""
    assert format_value(value) == expected


def test_cells_of_a_sheet_are_places(tmp_path: Path) -> None:
    """Titles, the sheet and each cell have a place; a quote of several cells names all of them."""
    path = make_xlsx(
        tmp_path / "a.xlsx", Costs=[["Costs of 2026"], [], ["Item", "Price"], ["Rye", 4]], More=[["Day"], [1]]
    )

    document = describe_table_file(path)

    def find(words: str) -> str:
        start = document.text.index(words)
        inside = [[p.label for p in document.places if p.start <= at][-1] for at in (start, start + len(words) - 1)]
        return join_places(*inside)

    quotes = ("Costs of 2026", "The table a.costs", "| Item ", "| Rye | 4 |", "4 |", "The table a.more", "| 1 |")
    assert [find(quote) for quote in quotes] == [
        "sheet Costs, cell A1",
        "sheet Costs",
        "sheet Costs, cell A3",
        "sheet Costs, cells A4:B4",
        "sheet Costs, cell B4",
        "sheet More",
        "sheet More, cell A2",
    ]


def test_a_wide_file_has_a_place_for_each_row(tmp_path: Path) -> None:
    """Above a number of cells, rows are places, so that the number of places is bounded."""
    rows: list[list[object]] = [[n] * 80 for n in range(201)]
    rows[0] = [f"c{n}" for n in range(80)]
    path = make_xlsx(tmp_path / "a.xlsx", s=rows)

    labels = [place.label for place in describe_table_file(path).places]

    assert labels[2:4] == ["sheet s, cell A1", "sheet s, cell B1"]
    assert labels[-1] == "sheet s, cells A201:CB201"
    assert len(labels) < 10_100


def test_the_cells_of_a_csv_file_are_places(tmp_path: Path) -> None:
    """A file that is one sheet has cells without the name of a sheet."""
    (tmp_path / "a.csv").write_text("item,price\nRye,4\n", encoding="utf-8")

    document = describe_table_file(tmp_path / "a.csv")

    assert [place.label for place in document.places if place.label] == ["cell A1", "cell B1", "cell A2", "cell B2"]
    assert document.text[document.places[-1].start :] == "| 4 |"
