"""Tests of the quotes and of invalid passages in the points of the document comparer."""

from tenure.roles.base import Evidence
from tenure.roles.claims.document_comparer import (
    DocumentComparerInput,
    DocumentComparerOutput,
    PointOfComparison,
    build_comparison,
)
from tests.support.passages import passage

LONG = "The baker lets the dough of rye bread rise for {} hours in the warm kitchen."
OWN = "The flour of the rye bread comes from the mill on the river."
PASSAGES = (passage(f"{LONG.format(2)} {OWN}", source="a"), passage(LONG.format(9), source="b"))
INPUT = DocumentComparerInput(criteria="How is rye bread made?", first_document_passages=1)


def point(first: str, first_passage: int, second: str, second_passage: int) -> PointOfComparison:
    return PointOfComparison(
        relation="different",
        about="hours",
        first=first,
        first_passage=first_passage,
        second=second,
        second_passage=second_passage,
    )


def test_both_sides_are_quoted() -> None:
    """Each side of a point cites its passage."""
    (one,) = build_comparison(
        INPUT, DocumentComparerOutput(points=(point("Two.", 1, "Nine.", 2),)), Evidence(PASSAGES)
    ).points

    assert one.first and one.second
    assert (one.first.citations[0].chunk, one.second.citations[0].chunk) == ("a:0", "b:0")


def test_a_side_with_a_wrong_passage_is_dropped() -> None:
    """A side that names a passage of the other document, or none, is dropped, and the relation changes."""
    points = (point("Two.", 2, "Nine.", 2), point("Two.", 1, "Nine.", 1), point("Two.", 9, " ", 0))
    found = build_comparison(INPUT, DocumentComparerOutput(points=points), Evidence(PASSAGES)).points

    assert [(one.relation, one.first is None, one.second is None) for one in found] == [
        ("only_second", True, False),
        ("only_first", False, True),
    ]
