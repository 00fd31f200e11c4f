"""Tests of claim pairs and contradiction detection."""

import pytest

from tenure.algorithms.claims.claim_pairs import detect_contradiction, find_claim_pairs, find_disputable_pairs
from tests.support.passages import passage
from tests.support.worlds import encode

RISES = "The dough of rye bread has to rise for two hours in the warm kitchen."
LONGER = "The dough of rye bread has to rise for nine hours in the warm kitchen."
OTHER = "The milk of the goat is curdled with rennet before the cheese is pressed."


def test_related_claims_of_two_sources_are_paired() -> None:
    """Claims on one subject are paired across sources, with their positions, and never within a source."""
    found = find_claim_pairs(
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


def test_unrelated_claims_are_not_paired() -> None:
    """Sources without common words, and a single source, have no pairs."""
    assert find_claim_pairs([passage(RISES, "bread"), passage(OTHER, "cheese")], encode) == []
    assert find_claim_pairs([passage(RISES, "bread")], encode) == []
    assert find_claim_pairs([passage(f"{RISES} {LONGER}", "bread")], encode) == []


def test_passages_of_one_source_may_contradict_each_other() -> None:
    """Disputable pairs may be of one source, but not of one passage."""
    apart, together = [passage(RISES, "bread"), passage(LONGER, "bread", 900)], [passage(f"{RISES} {LONGER}")]

    assert [(pair.a.text, pair.b.text) for pair in find_disputable_pairs(apart, encode)] == [(RISES, LONGER)]
    assert find_claim_pairs(apart, encode) == find_disputable_pairs(together, encode) == []


def test_parallel_statements_are_not_disputable() -> None:
    """Statements in nearly the same words are left out, unless a number, a negation or an antonym differs."""
    wheat, never = RISES.replace("rye", "wheat"), RISES.replace("has to", "never has to")
    given = [passage(text, f"s{n}") for n, text in enumerate((RISES, wheat, never))]

    assert {(pair.a.text, pair.b.text) for pair in find_disputable_pairs(given, encode)} == {
        (RISES, never),
        (wheat, never),
    }


def test_statements_of_one_source_need_an_opposite() -> None:
    """Statements of one source in other words are no dispute without another number, negation or antonym."""
    dough = "The dough of rye bread has to rise in a bowl."
    oven = "In a warm bowl the dough of rye bread has a good place."

    assert find_disputable_pairs([passage(dough, "bread"), passage(oven, "rye")], encode)
    assert find_disputable_pairs([passage(dough, "bread"), passage(oven, "bread", 900)], encode) == []


def test_descriptions_of_tables_are_not_disputable() -> None:
    """The program's sentences on the columns of a table differ in numbers and contradict no other of them."""
    visits = "The column visits of the table loans holds whole numbers with a mean of 40 and a sum of 90."
    prints = "The column prints of the table loans holds whole numbers with a mean of 50 and a sum of 95."
    report = "A column visits of the table loans holds whole numbers with a mean of 41 and a sum of 91."
    given = [passage(text, f"s{n}") for n, text in enumerate((visits, prints))]

    assert find_claim_pairs(given, encode)
    assert find_disputable_pairs(given, encode) == []
    assert find_disputable_pairs([given[0], passage(report, "s2")], encode)


def test_pairs_are_bounded() -> None:
    """Only the most similar pairs are returned."""
    many = [passage(RISES.replace("two", number), f"s{n}") for n, number in enumerate("two six nine ten".split())]

    assert len(find_claim_pairs(many, encode)) == 6
    assert len(find_claim_pairs(many, encode, max_pairs=1)) == 1


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
def test_contradiction_has_a_severity(a: str, b: str, severity: str) -> None:
    """An antonym, a negation or a different number in the same claim is a contradiction."""
    found = detect_contradiction(a, b, 0.9)

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
def test_compatible_claims_are_no_contradiction(a: str, b: str) -> None:
    """Different names, versions, units, subjects and ranges are no contradiction."""
    assert detect_contradiction(a, b, 0.9) is None


def test_dissimilar_claims_are_no_contradiction() -> None:
    """Below the minimum similarity the words are not compared."""
    assert detect_contradiction("The rate rises in May.", "The rate falls in May.", 0.6) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The cache improves speed on slow disks.", "The cache does not improve speed on fast disks."),
        ("The dough of rye rises for 2 hours.", "The dough of wheat rises for 9 hours."),
    ],
)
def test_different_conditions_are_no_contradiction(a: str, b: str) -> None:
    """Statements of which each has a word that the other lacks can both be true."""
    assert detect_contradiction(a, b, 0.95) is None


def test_documents_about_themselves_do_not_contradict_each_other() -> None:
    """Each of two documents may describe another year."""
    a, b = (f"This document describes the {year} election of the council." for year in (2023, 2025))
    other_a, other_b = (text.replace("This document describes", "The council holds") for text in (a, b))

    assert detect_contradiction(a, b, 0.98) is None
    assert detect_contradiction(other_a, other_b, 0.98) is not None
