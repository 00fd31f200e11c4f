"""The cells around a quote are read from its sheet."""

from pathlib import Path

import pytest

from tenure.contracts.evidence.places import parse_cells
from tenure.contracts.evidence.recognition import SheetPlace
from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.views.sheet_window import read_window
from tests.sources.packages import make_xlsx


def _place(label: str, header: int = 1) -> SheetPlace:
    cells = parse_cells(label)
    assert cells is not None
    return SheetPlace(cells, header)


def test_the_window_of_a_workbook_has_the_header_and_the_rows_around(tmp_path: Path) -> None:
    """Rows keep their numbers, also below empty ones; the row of the names is shown above the others."""
    rows: list[list[object]] = [[f"i{n}", n, None] for n in range(1, 40)]
    rows[0], rows[29] = ["Item", "Price", "Day"], []
    path = make_xlsx(tmp_path / "a.xlsx", Other=[["x"]], **{"My costs": rows})

    window = read_window(path, _place("sheet My costs, cell B31"))

    assert (window.sheet, window.columns, window.marked_rows, window.marked_columns) == (
        "My costs",
        ("A", "B", "C"),
        (31, 31),
        ("B",),
    )
    assert [row.number for row in window.rows] == [1, 27, 28, 29, 30, 31, 32, 33, 34, 35]
    assert [row.cells for row in window.rows[3:6]] == [("i29", "29", ""), ("", "", ""), ("i31", "31", "")]


def test_the_window_of_a_csv_file_is_read_up_to_its_last_row(tmp_path: Path) -> None:
    """Cells of separated values are shown by row and column; long ones are cut, and wide rows as well."""
    path = tmp_path / "a.csv"
    header = ";".join(f"c{n}" for n in range(1, 41))
    lines = [";".join(f"{n}-{column}" for column in range(1, 41)) for n in range(2, 5_000)]
    lines[8] = "x" * 300 + ";" + "y;" * 38 + "z"
    path.write_text("\n".join([header, *lines]), encoding="utf-8")

    window = read_window(path, _place("cells A10:AN10"))

    assert (window.sheet, window.columns[0], len(window.columns)) == ("", "A", 16)
    assert [row.number for row in window.rows] == [1, 6, 7, 8, 9, 10, 11, 12, 13, 14]
    assert window.rows[5].cells[0] == "x" * 200 + "…"


def test_a_quote_of_very_many_rows_is_shown_from_its_beginning(tmp_path: Path) -> None:
    """The number of rows is bounded."""
    rows: list[list[object]] = [[n] for n in range(500)]
    path = make_xlsx(tmp_path / "a.xlsx", s=rows)

    window = read_window(path, _place("sheet s, cells A100:A400"))

    assert [row.number for row in window.rows] == [1, *range(96, 120)]


@pytest.mark.parametrize(
    ("name", "label", "reason"),
    [
        ("a.xlsx", "sheet other, cell A1", "has no sheet other, cell A1"),
        ("a.xlsx", "sheet s, cell A9", "has no sheet s, cell A9"),
        ("b.xlsx", "sheet s, cell A1", "is not a valid workbook"),
        ("b.csv", "cell A1", "is damaged"),
    ],
)
def test_what_cannot_be_shown_has_a_reason(tmp_path: Path, name: str, label: str, reason: str) -> None:
    """A sheet or a row that is missing and a damaged file have a reason."""
    make_xlsx(tmp_path / "a.xlsx", s=[["n"], [1]])
    for damaged in ("b.xlsx", "b.csv"):
        (tmp_path / damaged).write_bytes(b"\xff\x00\xff")

    with pytest.raises(Unreadable, match=reason):
        read_window(tmp_path / name, _place(label))
