"""Tests of the comparison of documents."""

from tenure.algorithms.writing.document_comparison import ComparisonPoint, compare_documents
from tenure.algorithms.writing.facts import FactStatement
from tests.support.passages import passage
from tests.support.worlds import encode

SHARED = "The baker lets the dough of rye bread rise for {} hours in the warm kitchen."
SAME = "The baker puts the salted loaf of rye bread into the hot oven at noon."
ALIKE = "At noon the baker puts the salted loaf of rye bread into the hot oven."
OWN = "The flour of the rye bread comes from the mill on the river."
THEIRS = "The crust of the rye bread is brushed with water by the baker."


def test_order_of_points() -> None:
    """Differences, then common statements, then statements of one document."""
    first = [passage(f"{SAME} {SHARED.format(2)} {OWN}", source="a")]
    second = [passage(f"{THEIRS} {SHARED.format(9)} {ALIKE}", source="b")]
    points = compare_documents("How does the baker make rye bread?", first, second, encode)

    assert [point.relation for point in points] == ["different", "same", "only_first", "only_second"]
    assert points[0][2:] == (FactStatement(1, SHARED.format(2)), FactStatement(2, SHARED.format(9)))
    assert points[0].about
    assert points[2:] == [
        ComparisonPoint("only_first", "", first=FactStatement(1, OWN)),
        ComparisonPoint("only_second", "", second=FactStatement(2, THEIRS)),
    ]


def test_statements_of_one_document_are_not_paired() -> None:
    """Statements of one document are not paired."""
    first = [passage(SAME, source="a"), passage(ALIKE, source="c")]
    points = compare_documents("rye bread", first, [], encode)

    assert {point.relation for point in points} == {"only_first"}


def test_unrelated_pairs_are_left_out() -> None:
    """Unrelated pairs are left out."""
    far = "The glacier of the high valley melts by {} metres in every warm summer."
    first = [passage(f"{OWN} {far.format(2)}", source="a")]
    points = compare_documents("flour from the mill on the river", first, [passage(far.format(9), source="b")], encode)

    assert [point.relation for point in points] == ["only_first"]
