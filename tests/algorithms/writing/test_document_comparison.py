"""Comparing: what two documents say on the same, and what only one of them says."""

from tenure.algorithms.writing.document_comparison import ComparisonPoint, compare_documents
from tenure.algorithms.writing.facts import FactStatement
from tests.passages import passage
from tests.worlds import encode

SHARED = "The baker lets the dough of rye bread rise for {} hours in the warm kitchen."
SAME = "The baker puts the salted loaf of rye bread into the hot oven at noon."
ALIKE = "At noon the baker puts the salted loaf of rye bread into the hot oven."
OWN = "The flour of the rye bread comes from the mill on the river."
THEIRS = "The crust of the rye bread is brushed with water by the baker."


def test_pairs_come_first_and_own_statements_after_them() -> None:
    """Statements that disagree come first, those that agree follow, then what each document says alone."""
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


def test_statements_of_one_side_make_no_pair() -> None:
    """What one document says twice, in two passages that count as sources of their own, is no comparison."""
    first = [passage(SAME, source="a"), passage(ALIKE, source="c")]
    points = compare_documents("rye bread", first, [], encode)

    assert {point.relation for point in points} == {"only_first"}


def test_what_is_beside_the_criteria_is_left_out() -> None:
    """A pair of statements that says nothing on the criteria is none."""
    far = "The glacier of the high valley melts by {} metres in every warm summer."
    first = [passage(f"{OWN} {far.format(2)}", source="a")]
    points = compare_documents("flour from the mill on the river", first, [passage(far.format(9), source="b")], encode)

    assert [point.relation for point in points] == ["only_first"]
