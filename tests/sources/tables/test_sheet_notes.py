"""Tests of comments and text boxes of workbooks."""

from pathlib import Path

import pytest
import xlsxwriter

from tenure.sources.parsers.parse import parse_file
from tenure.sources.tables.catalogue import CellText
from tenure.sources.tables.sheet_notes import SheetNote, list_notes
from tests.sources.packages import package


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    """Return a workbook with a comment, a text box, and a hidden sheet."""
    path = tmp_path / "plan.xlsx"
    with xlsxwriter.Workbook(str(path)) as made:
        costs = made.add_worksheet("Costs 1")
        costs.write_column(0, 0, ["Item", "Rye", "Oats"])
        costs.write_comment("AB3", "Ask Bo\nfirst.", {"author": "Ann"})
        costs.insert_textbox(4, 2, "Prices of May")
        hidden = made.add_worksheet("Old")
        hidden.write_column(0, 0, ["Item", "Barley"])
        hidden.hide()
    return path


def test_comments_and_text_boxes_have_their_cells(workbook: Path) -> None:
    """A comment names the commented cell, a box the cell below its corner."""
    assert set(list_notes(workbook)) == {
        SheetNote("Costs 1", "Comment", CellText(3, 28, "Ask Bo first.")),
        SheetNote("Costs 1", "Text box", CellText(5, 3, "Prices of May")),
    }


def test_notes_follow_the_tables_with_their_places(workbook: Path) -> None:
    """A quote from a comment names its cell, and the description says that a sheet is hidden."""
    document = parse_file(workbook)

    def find_place(words: str) -> str:
        return [place.label for place in document.places if place.start <= document.text.index(words)][-1]

    assert find_place("Comment: Ask Bo first.") == "sheet Costs 1, cell AB3"
    assert find_place("Text box: Prices of May") == "sheet Costs 1, cell C5"
    assert "The sheet of the table plan.old is hidden in its workbook." in document.text
    assert "plan.costs_1 is hidden" not in document.text


def test_a_workbook_without_cells_has_the_text_of_its_boxes(tmp_path: Path) -> None:
    """Sheets that only carry a drawing are read."""
    path = tmp_path / "board.xlsx"
    with xlsxwriter.Workbook(str(path)) as made:
        made.add_worksheet("Board").insert_textbox(1, 1, "Order rye in May")

    assert parse_file(path).text == "# Comments and text boxes of Board\n\nText box: Order rye in May"


def test_damaged_notes_cost_nothing_else(tmp_path: Path) -> None:
    """A package without the parts of a workbook has no notes."""
    path = tmp_path / "bad.xlsx"
    path.write_bytes(package(xl__workbook="no XML"))

    assert list_notes(path) == ()
