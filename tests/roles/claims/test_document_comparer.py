"""The document comparer: its twin, and points that name no passage of their document."""

from tenure.roles.base import Evidence
from tenure.roles.claims.document_comparer import (
    DocumentComparerInput,
    DocumentComparerOutput,
    PointOfComparison,
    comparison,
    offline,
)
from tests.passages import passage
from tests.worlds import encode

LONG = "The baker lets the dough of rye bread rise for {} hours in the warm kitchen."
OWN = "The flour of the rye bread comes from the mill on the river."
PASSAGES = (passage(f"{LONG.format(2)} {OWN}", source="a"), passage(LONG.format(9), source="b"))


def point(first: str, first_passage: int, second: str, second_passage: int) -> PointOfComparison:
    return PointOfComparison(
        relation="different",
        about="hours",
        first=first,
        first_passage=first_passage,
        second=second,
        second_passage=second_passage,
    )


def test_the_twin_tells_where_documents_differ() -> None:
    """A pair that disagrees is a point with both sides; a statement without its like is one of its own."""
    found = offline(DocumentComparerInput(criteria="How is rye bread made?", border=1), Evidence(PASSAGES, encode))

    assert [(one.relation, one.first_passage, one.second_passage) for one in found.points] == [
        ("different", 1, 2),
        ("only_first", 1, 0),
    ]
    assert (found.points[0].first, found.points[0].second) == (LONG.format(2), LONG.format(9))


def test_both_sides_are_quoted() -> None:
    """Each side of a point cites the passage that it names."""
    (one,) = comparison(DocumentComparerOutput(points=(point("Two.", 1, "Nine.", 2),)), 1, PASSAGES).points

    assert one.first and one.second
    assert (one.first.citations[0].chunk, one.second.citations[0].chunk) == ("a:0", "b:0")


def test_a_side_of_the_wrong_document_is_none() -> None:
    """A side that names a passage of the other document, or none, is dropped, and the relation says so."""
    points = (point("Two.", 2, "Nine.", 2), point("Two.", 1, "Nine.", 1), point("Two.", 9, " ", 0))
    found = comparison(DocumentComparerOutput(points=points), 1, PASSAGES).points

    assert [(one.relation, one.first is None, one.second is None) for one in found] == [
        ("only_second", True, False),
        ("only_first", False, True),
    ]
