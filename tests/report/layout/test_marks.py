"""Test the explanations of marks."""

from tenure.contracts.result.result import ResultClaim
from tenure.report.layout.marks import EMPTY_CELL, EMPTY_CELL_MEANING, explain_marks


def cell(text: str) -> ResultClaim:
    return ResultClaim(text=text, kind="gap", status="unverified", begins="cell", label="Rye", column="Price")


def test_an_empty_cell_is_explained() -> None:
    """A dash in a table has a legend, since it is no statement on the sources; other cells have none."""
    assert explain_marks([cell(EMPTY_CELL)]) == (f"{EMPTY_CELL}: {EMPTY_CELL_MEANING}.",)
    assert explain_marks([cell("2 euros")]) == ()
