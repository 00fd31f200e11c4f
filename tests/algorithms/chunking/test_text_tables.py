"""Tests of the tables in the text of documents."""

import pytest

from tenure.algorithms.chunking.text_tables import list_document_tables, parse_number

TEXT = """# Honey

Some text.

|  | Summer |  | Winter |
| Station | Colonies | Honey | Colonies |
| Moor | 12 | 140.5 | – |
| Hill | 7 |  | 3 |

More text.

| Name | Role |
| Ann | lead |"""


def test_tables_have_columns_and_rows_with_offsets() -> None:
    """The upper cells of a header name all columns to their right, and each row has its offset in the text."""
    honey, people = list_document_tables(TEXT)

    assert honey.columns == ("Station", "Summer Colonies", "Summer Honey", "Winter Colonies")
    assert [row.cells for row in honey.body] == [("Moor", "12", "140.5", "–"), ("Hill", "7", "", "3")]
    assert all(TEXT.startswith(f"| {row.cells[0]} |", row.start) for row in honey.body)
    assert (people.columns, len(people.body)) == (("Name", "Role"), 1)


@pytest.mark.parametrize(
    ("text", "number"),
    [("1,234.5", 1234.5), ("−5", -5), ("(3.4)", -3.4), ("12 %", 12), ("$ 5", 5), ("2019–20", None), ("ten", None)],
)
def test_numbers_of_cells_are_read(text: str, number: float | None) -> None:
    """Separators of thousands, signs, and marks of percentages and currencies are understood."""
    assert parse_number(text) == number
