"""Tests of the passage type."""

from dataclasses import FrozenInstanceError, replace

import pytest

from tenure.algorithms.text.passage import COLUMNS_PREFIX
from tests.support.passages import passage


def test_passage_is_immutable() -> None:
    """Immutable text keeps quotes verbatim between retrieval and citation."""
    with pytest.raises(FrozenInstanceError):
        passage("Bread is old.").text = "Bread is new."  # type: ignore[misc]


def test_equal_passages_are_equal_values() -> None:
    """Passages are values: the same chunk found twice compares equal."""
    assert len({passage("Bread is old."), passage("Bread is old."), passage("Bread is old.", start=5)}) == 2


def test_columns_are_no_heading() -> None:
    """The entry of a heading path that names the columns of a table is apart from the headings."""
    rows = replace(passage("| rye | 3 |"), heading_path=("Prices", f"{COLUMNS_PREFIX}Name, Price"))

    assert (rows.headings, rows.columns) == (("Prices",), "Name, Price")
    assert (passage("Rye.").headings, passage("Rye.").columns) == (passage("Rye.").heading_path, "")
