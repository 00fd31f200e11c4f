"""Pairs of statements of different sources, and plain disagreement between them."""

import pytest

from tenure.algorithms.claims.claim_pairs import disagreeing, pairs
from tests.passages import passage
from tests.worlds import encode

RISES = "The dough of rye bread has to rise for two hours in the warm kitchen."
LONGER = "The dough of rye bread has to rise for nine hours in the warm kitchen."
OTHER = "The milk of the goat is curdled with rennet before the cheese is pressed."


def test_statements_on_one_subject_are_paired_across_sources() -> None:
    """Two sources that speak of the same are compared, the words with their place; one source never with itself."""
    found = pairs(
        [
            passage(f"{OTHER} {RISES} {RISES}", "bread", 100),
            passage(LONGER, "rye"),
            passage(f"{RISES}\n\nThis is so. {OTHER}", "bread", 900),
            passage("x = two hours", "code", kind="code"),
        ],
        encode,
    )

    assert {(pair.a.text, pair.b.text) for pair in found} == {(RISES, LONGER)}
    assert all(side.end - side.start == len(side.text) for pair in found for side in (pair.a, pair.b))
    assert found[0].a.start == 100 + len(OTHER) + 1


def test_strangers_are_not_paired() -> None:
    """Sources without words in common leave nothing to compare, and neither does a single one."""
    assert pairs([passage(RISES, "bread"), passage(OTHER, "cheese")], encode) == []
    assert pairs([passage(RISES, "bread")], encode) == []


def test_pairs_are_bounded() -> None:
    """The best pairs stay where there are more than wanted."""
    many = [passage(RISES.replace("two", number), f"s{n}") for n, number in enumerate("two six nine ten".split())]

    assert len(pairs(many, encode)) == 6
    assert len(pairs(many, encode, most=1)) == 1


@pytest.mark.parametrize(
    ("a", "b", "severity"),
    [
        ("The rate of bread rises in May.", "The rate of bread falls in May.", "high"),
        ("The cache is shared by threads.", "The cache is not shared by threads.", "high"),
        ("The dough rises for 2 hours.", "The dough rises for 9 hours.", "medium"),
        ("The oven was built in 1890.", "The oven was built in 1891.", "medium"),
        ("The oven weighs 1000.5 kilos.", "The oven weighs 1001.5 kilos.", "low"),
    ],
)
def test_plain_disagreement_is_told_with_its_severity(a: str, b: str, severity: str) -> None:
    """An opposite, a denial or another figure in the same statement is a contradiction."""
    found = disagreeing(a, b, 0.9)

    assert found is not None and found.severity == severity and found.about


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The dough rises for 2 hours.", "The dough rises for 2 hours."),
        ("The dough rises for 2 hours.", "The dough rises for 9 days."),
        ("The dough rises in Rome for 2 hours.", "The dough rises in Bath for 9 hours."),
        ("It is new in Python 3.8 for files.", "It is new in Python 3.9 for files."),
        ("The dough rises for 2 hours.", "The old sour dough of rye rises slowly for 9 hours."),
        ("The price rises in old Rome after war and flood.", "The price falls with every loaf that is sold cheaply."),
        ("The dough rises for 2 to 3 hours.", "The dough rises for 4 to 5 hours."),
    ],
)
def test_what_may_both_be_true_is_no_contradiction(a: str, b: str) -> None:
    """Other names, versions, units or subjects, and ranges, are left alone."""
    assert disagreeing(a, b, 0.9) is None


def test_unlike_statements_are_not_held_against_each_other() -> None:
    """Below the bar of likeness words alone tell nothing."""
    assert disagreeing("The rate rises in May.", "The rate falls in May.", 0.6) is None
