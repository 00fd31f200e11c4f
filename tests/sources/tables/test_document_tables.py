"""Tests of the types of tables in documents."""

from tenure.algorithms.chunking.text_tables import list_document_tables
from tenure.sources.tables.document_tables import build_table


def test_columns_are_numbers_only_if_all_cells_are() -> None:
    """Cells that say nothing do not turn a column of numbers into text, and no name occurs twice."""
    text = "| Name | n | n |\n| a | 12 | 12 |\n| b | – | about 7 |\n| c | 7.5 |  |"
    [table] = map(build_table, list_document_tables(text))

    assert table is not None
    assert table.to_pydict() == {"Name": ["a", "b", "c"], "n": [12, None, 7.5], "n_2": ["12", "about 7", None]}


def test_a_header_alone_is_no_table() -> None:
    """A table without rows has nothing to query."""
    assert [*map(build_table, list_document_tables("| a | b |"))] == [None]
