"""Tests of extracted statements."""

import pytest

from tenure.algorithms.writing.facts import FactStatement, extract_facts
from tenure.contracts.research.tools import FactKind
from tests.support.passages import passage
from tests.support.worlds import encode

FIGURE = "The dough of the bread rises for two hours in the warm kitchen."
DATE = "The bakery of the town was founded by its guild in the year 1873."
NAME = "The bread of the bakery is sold by Anna Winter in the old town."
DEFINITION = "A sourdough is a dough that wild yeast has made sour over days."
LEANING = "It is also sold there by the baker of the town in the morning."
TEXT = " ".join((FIGURE, DATE, NAME, LEANING, DEFINITION))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("figures", FIGURE), ("dates", DATE), ("names", NAME), ("definitions", DEFINITION)],
)
def test_kinds_of_statements(kind: FactKind, expected: str) -> None:
    """Quantities, dates, names and definitions; a year is not a quantity."""
    assert extract_facts("bread and dough of the bakery", kind, [passage(TEXT)], encode, 5) == [
        FactStatement(1, expected)
    ]


def test_any_self_contained_statement_counts() -> None:
    """Nearest first, each once, without statements that need context."""
    again = passage(DATE, source="other")
    found = extract_facts("When was the bakery of the town founded?", "any", [passage(TEXT), again], encode, 9)

    assert found[0] == FactStatement(1, DATE)
    assert LEANING not in [fact.text for fact in found]
    assert len({fact.text for fact in found}) == len(found)


def test_weak_statements_are_left_out() -> None:
    """Weak statements are left out."""
    found = extract_facts("How long does the dough rise?", "any", [passage(TEXT)], encode, 9)

    assert found[0] == FactStatement(1, FIGURE)
    assert extract_facts("How long does the dough rise?", "any", [passage(TEXT)], encode, 1) == found[:1]
    assert len(found) < 4


def test_code_has_no_statements() -> None:
    """Code has no statements."""
    assert extract_facts("bread", "any", [passage("x = 1", kind="code")], encode, 5) == []
