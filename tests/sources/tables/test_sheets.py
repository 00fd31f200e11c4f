"""Tests of workbooks as tables."""

from datetime import date, datetime
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
import xlsxwriter
from python_calamine import CalamineWorkbook

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.table_text import describe_table_file
from tenure.sources.tables import sheets
from tenure.sources.tables.catalogue import CellText, SheetOrigin
from tenure.sources.tables.sheets import read_sheets
from tenure.sources.tables.sql_engine import SqlEngine, SqlError, SqlLimits
from tests.sources.packages import make_xlsx, pack_zeros, package
from tests.sources.table_files import opened

SALES: list[list[object]] = [
    ["Sales of the year, in thousands"],
    [],
    ["Region", "Sold", "Share", "Day", "Region"],
    ["North", 1, 0.5, date(2026, 1, 2), "a"],
    ["South", 2, 0.25, date(2026, 1, 3), "b"],
    ["Total", "3", None, None, None],
]


def test_a_sheet_is_a_table_with_a_type_for_each_column(tmp_path: Path) -> None:
    """The header may be below titles, its names are made unique, and a column of several types is text."""
    (sheet,) = read_sheets(make_xlsx(tmp_path / "a.xlsx", **{"2026 Sales": SALES}))

    assert sheet.name == "t_2026_sales"
    assert sheet.table.to_pydict() == {
        "Region": ["North", "South", "Total"],
        "Sold": ["1", "2", "3"],
        "Share": [0.5, 0.25, None],
        "Day": [date(2026, 1, 2), date(2026, 1, 3), None],
        "Region_2": ["a", "b", None],
    }


def test_columns_without_names_are_numbered(tmp_path: Path) -> None:
    """Rows of numbers have no header; whole numbers are integers, and empty columns are omitted."""
    rows: list[list[object]] = [[1, None, 2.5, datetime(2026, 1, 2, 3, 4)], [2, None, 3, date(2026, 1, 3)]]  # noqa: DTZ001
    (sheet,) = read_sheets(make_xlsx(tmp_path / "a.xlsx", s=rows))

    assert sheet.table.column_names == ["column 1", "column 3", "column 4"]
    assert [str(kind) for kind in sheet.table.schema.types][:2] == ["int64", "double"]


def test_hidden_sheets_are_marked(tmp_path: Path) -> None:
    """Hidden sheets are tables that know it; the only row of a sheet is no header."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(str(path)) as workbook:
        workbook.add_worksheet("shown").write_row(0, 0, ["only", "words"])
        workbook.add_worksheet("empty")
        hidden = workbook.add_worksheet("hidden")
        hidden.write_column(0, 0, ["a", "b"])
        hidden.hide()

    shown, behind = read_sheets(path)
    assert shown.table.to_pydict() == {"column 1": ["only"], "column 2": ["words"]}
    assert behind.table.to_pydict() == {"a": ["b"]}
    assert (shown.origin.is_hidden, behind.origin.is_hidden) == (False, True)


def test_a_table_knows_its_place_in_the_sheet(tmp_path: Path) -> None:
    """Rows and columns are those that a spreadsheet program shows, and rows above the header are titles."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(str(path)) as workbook:
        sheet = workbook.add_worksheet("Costs 1")
        sheet.write(1, 1, "Costs of 2026")
        sheet.write_row(3, 1, ["Item", "Price"])
        sheet.write_row(4, 1, ["Rye", 4])
        sheet.write_row(6, 1, ["Oats", 2])

    (read,) = read_sheets(path)

    titles = ((CellText(2, 2, "Costs of 2026"),),)
    assert read.origin == SheetOrigin("Costs 1", (2, 3), 4, (5, 7), titles)


def test_sheets_are_queried(tmp_path: Path) -> None:
    """Each sheet is a table of a schema that is named after the file."""
    path = make_xlsx(tmp_path / "book.xlsx", one=[["n"], [1], [2]], One_=[["word"], ["x"]])
    engine = SqlEngine(opened(path), SqlLimits())

    assert engine.names == ("book.one", "book.one_2")
    assert engine.run_select("SELECT sum(n) FROM book.one").rows == ((3,),)
    engine.close()


def test_a_workbook_is_described_as_a_document(tmp_path: Path) -> None:
    """Columns, statistics and rows of a sheet are quotable."""
    text = describe_table_file(make_xlsx(tmp_path / "book.xlsx", one=[["n"], [1], [2]])).text

    assert "The table book.one has 2 rows and the columns n." in text
    assert text.endswith("| n |\n| 1 |\n| 2 |")


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.xlsx", b"x", "is not a valid workbook"),
        ("a.xls", b"x", "is not a valid workbook"),
        ("a.ods", package(a=b"x"), "is not a valid workbook"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "is encrypted"),
        ("a.ods", package(**{"META-INF__manifest.xml": "<m><encryption-data/></m>"}), "is encrypted"),
    ],
)
def test_unreadable_workbooks_have_a_reason(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    """Damaged and encrypted workbooks are unreadable, each with its reason."""
    path = tmp_path / name
    path.write_bytes(data)

    with pytest.raises(Unreadable) as caught:
        list(read_sheets(path))
    assert caught.value.reason == reason
    with pytest.raises(Unreadable) as described:
        describe_table_file(path)
    assert described.value.reason == reason


def test_a_workbook_without_cells_has_no_text(tmp_path: Path) -> None:
    """An empty sheet is no damage."""
    with pytest.raises(Unreadable) as caught:
        describe_table_file(make_xlsx(tmp_path / "a.xlsx", s=[]))

    assert caught.value.reason == "has no text"


def test_exploding_and_large_workbooks_are_unreadable(tmp_path: Path) -> None:
    """The size of a file and of its content is limited."""
    path = tmp_path / "a.xlsx"
    path.write_bytes(pack_zeros(500_000_001))
    with pytest.raises(Unreadable, match="unpacks to far more than a document"):
        list(read_sheets(path))
    with path.open("wb") as large:
        large.truncate(50_000_001)
    with pytest.raises(Unreadable, match="is larger than 50 MB"):
        list(read_sheets(path))


def test_a_workbook_of_very_many_cells_is_refused(tmp_path: Path) -> None:
    """All cells are kept in memory, so their number is limited."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(str(path)) as workbook:
        sheet = workbook.add_worksheet()
        sheet.write(0, 0, "a")
        sheet.write(1_000, 2_000, "b")

    with pytest.raises(Unreadable, match="has more than 2000000 cells"):
        list(read_sheets(path))


def test_a_damaged_workbook_does_not_affect_others(tmp_path: Path) -> None:
    """A query that needs the damaged workbook reports it, and other tables are available."""
    (tmp_path / "bad.xlsx").write_bytes(b"x")
    good = make_xlsx(tmp_path / "good.xlsx", one=[["n"], [1]])
    engine = SqlEngine(opened(tmp_path / "bad.xlsx", good), SqlLimits())

    assert engine.names == ("good.one",)
    engine.close()
    with pytest.raises(SqlError, match="bad is not a valid workbook"):
        SqlEngine(opened(tmp_path / "bad.xlsx"), SqlLimits())


def test_merged_cells_come_before_the_names_below_them(tmp_path: Path) -> None:
    """A header of two rows names each column by both; a title over all columns is none."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.merge_range("A1:E1", "Yields in tonnes")
        sheet.merge_range("A2:A3", "Crop")
        sheet.merge_range("B2:C2", 2023)
        sheet.merge_range("D2:E2", 2024)
        for number, row in enumerate([["Rye", "Oats"] * 2, [1, 2, 3, 4], [5, 6, 7, 8]], 2):
            sheet.write_row(number, 1, row)
        sheet.write_column(3, 0, ["North", "South"])
    (read,) = read_sheets(path)

    assert read.table.column_names == ["Crop", "2023 Rye", "2023 Oats", "2024 Rye", "2024 Oats"]
    assert read.table.column("2024 Rye").to_pylist() == [3, 7]
    assert read.origin.header == 3
    assert [[cell.text for cell in row] for row in read.origin.titles] == [["Yields in tonnes"]]


@pytest.mark.parametrize(
    ("spans", "rows", "expected"),
    [
        pytest.param(
            ["D1:F1"],
            [["Id", "Name", "Class", "Notes"], ["1", "Rye", "A", "dry"], ["2", "Oats", "B", "wet"]],
            {"Id": ["1", "2"], "Name": ["Rye", "Oats"], "Class": ["A", "B"], "Notes": ["dry", "wet"]},
            id="beyond the last filled column",
        ),
        pytest.param(
            ["A1:C1"],
            [[None, None, None, "Crop"], [None, None, "Id", "Name"], [None, None, "1", "Rye"]],
            {"Id": ["1"], "Name": ["Rye"]},
            id="before the first filled column",
        ),
        pytest.param(
            ["A1:B1"],
            [["Person", None, "City", "State"], ["Ann", "Lee", "Rome", "Italy"], ["Bo", "Ek", "Oslo", "Norway"]],
            {
                "Person": ["Ann", "Bo"],
                "column 2": ["Lee", "Ek"],
                "City": ["Rome", "Oslo"],
                "State": ["Italy", "Norway"],
            },
            id="above a record",
        ),
        pytest.param(
            ["B1:C1", "D1:E1"],
            [[None, "Rye", None, "Oats"], [0, "a", "b", "c", "d"], [1, "e", "f", "g", "h"]],
            {
                **{"column 1": [None, 0, 1], "column 2": ["Rye", "a", "e"], "column 3": [None, "b", "f"]},
                **{"column 4": ["Oats", "c", "g"], "column 5": [None, "d", "h"]},
            },
            id="above a record with a zero",
        ),
        pytest.param(
            ["A1:C1"],
            [["Yields"], ["Crop", "Year", "Field", "Tonnes"], ["Rye", "2023", "North", "5"]],
            {"Crop": ["Rye"], "Year": ["2023"], "Field": ["North"], "Tonnes": ["5"]},
            id="title over most columns",
        ),
        pytest.param(
            ["B1:E1"],
            [["Crop", "Yield"], [None, "a", "b", "c", "d"], ["Rye", 1, 2, 3, 4]],
            {"Crop": ["Rye"], "Yield a": [1], "Yield b": [2], "Yield c": [3], "Yield d": [4]},
            id="name over all columns but one",
        ),
    ],
)
def test_merged_cells_are_parts_of_names_only_above_names(
    tmp_path: Path, spans: list[str], rows: list[list[object]], expected: dict[str, list[object]]
) -> None:
    """Merged cells that reach beyond the filled ones, titles and names directly above records lose no cell."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for span in spans:
            sheet.merge_range(span, None)
        for number, row in enumerate(rows):
            for column, cell in enumerate(row):
                if cell is not None:
                    sheet.write(number, column, cell)
    (read,) = read_sheets(path)

    assert read.table.to_pydict() == expected


def test_defined_tables_are_tables_of_their_own(tmp_path: Path) -> None:
    """Two tables side by side have their names and headers; the rest of the sheet is a table of its own."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("Farm")
        crops, rain = [["Rye", 5], ["Oats", 6]], [["2023", 700], ["2024", 640]]
        for cells, name, columns, data in (
            ("A1:B3", "Yield", ("Crop", "Tonnes"), crops),
            ("D1:E3", "Weather", ("Year", "Rain"), rain),
        ):
            sheet.add_table(cells, {"name": name, "columns": [{"header": head} for head in columns], "data": data})
        sheet.write_column(4, 0, ["Remarks", "The mill closed."])
    tables = {read.name: read for read in read_sheets(path)}

    assert {name: read.table.to_pydict() for name, read in tables.items()} == {
        "yield": {"Crop": ["Rye", "Oats"], "Tonnes": [5, 6]},
        "weather": {"Year": ["2023", "2024"], "Rain": [700, 640]},
        "farm": {"column 1": ["Remarks", "The mill closed."]},
    }
    assert (tables["weather"].origin.columns, tables["weather"].origin.header) == ((4, 5), 1)
    assert {read.origin.sheet for read in tables.values()} == {"Farm"}


@pytest.mark.parametrize(
    ("cells", "rows", "expected"),
    [
        ("B2:D3", [("B2", ["Rye", 5]), ("B3", ["Oats", 6])], {"Column1": ["Rye", "Oats"], "Column2": [5, 6]}),
        ("A2:C3", [("B2", ["Rye", 5]), ("B3", ["Oats", 6])], {"Column2": ["Rye", "Oats"], "Column3": [5, 6]}),
    ],
)
def test_a_defined_table_may_be_wider_than_the_filled_cells(
    tmp_path: Path, cells: str, rows: list[tuple[str, list[object]]], expected: dict[str, list[object]]
) -> None:
    """Columns of a table without a header that are empty at the edge of a sheet shift no others."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.add_table(cells, {"header_row": False})
        for first, row in rows:
            sheet.write_row(first, row)
    (read,) = read_sheets(path)

    assert read.table.to_pydict() == expected


@pytest.mark.parametrize("name", ["xl/tables/table1.bin", "xl/embeddings/a.xlsx"])
def test_tables_are_sought_only_in_workbooks_that_define_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Neither the binary tables of XLSB nor an embedded workbook with tables are tables that the reader knows."""
    with xlsxwriter.Workbook(inner := tmp_path / "inner.xlsx") as book:
        book.add_worksheet().add_table("A1:B2")
    path = make_xlsx(tmp_path / "a.xlsx", s=[["n"], [1]])
    with ZipFile(path, "a") as package:
        package.write(inner, name)
    sought: list[bool] = []
    load = CalamineWorkbook.from_filelike

    class Workbook:
        @staticmethod
        def from_filelike(data: BytesIO, *, load_tables: bool) -> CalamineWorkbook:
            sought.append(load_tables)
            return load(data, load_tables=load_tables)

    monkeypatch.setattr(sheets, "CalamineWorkbook", Workbook)

    assert [read.table.to_pydict() for read in read_sheets(path)] == [{"n": [1]}]
    assert sought == [False]
