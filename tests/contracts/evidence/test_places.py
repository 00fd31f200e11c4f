"""Labels of places name cells as spreadsheet programs do."""

import pytest

from tenure.contracts.evidence.places import CellRange, format_column, join_places, parse_cells


@pytest.mark.parametrize(
    "cells",
    [
        CellRange("sheet Costs, ", 7, 2, 7, 2),
        CellRange("sheet Costs, cell B2, of 2026, ", 1, 26, 1_048_576, 16_384),
        CellRange("", 1, 1, 3, 27),
        CellRange("attachment plan.xlsx, sheet Costs, ", 1, 1, 1, 1),
    ],
)
def test_the_label_of_cells_can_be_read(cells: CellRange) -> None:
    """A label names the cells, whatever the sheet is called."""
    assert parse_cells(cells.label) == cells


def test_labels_have_letters_and_numbers() -> None:
    """Columns have letters, of which the 27th is AA and the last one XFD."""
    assert [format_column(number) for number in (1, 26, 27, 703, 16_384)] == ["A", "Z", "AA", "AAA", "XFD"]
    assert CellRange("sheet Costs, ", 7, 2, 9, 28).label == "sheet Costs, cells B7:AB9"
    assert CellRange("sheet Costs, ", 7, 2, 9, 28).sheet == "Costs"
    assert [parse_cells(label) for label in ("sheet Costs", "00:12:31", "attachment cell B7.docx", "")] == [None] * 4


@pytest.mark.parametrize(
    ("first", "last", "joined"),
    [
        ("sheet S, cell B7", "sheet S, cell D7", "sheet S, cells B7:D7"),
        ("sheet S, cell D7", "sheet S, cell A9", "sheet S, cells A7:D9"),
        ("sheet S, cell B7", "sheet S, cell B7", "sheet S, cell B7"),
        ("sheet S, cell B7", "sheet T, cell A1", "sheet S, cell B7"),
        ("00:12:31", "00:12:40", "00:12:31"),
        ("", "cell A1", ""),
    ],
)
def test_a_quote_names_all_of_its_cells(first: str, last: str, joined: str) -> None:
    """The cells between the first and the last one of a sheet are joined; other places are the first one."""
    assert join_places(first, last) == joined
