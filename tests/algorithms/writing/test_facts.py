"""Facts: which statements are of which kind, and which come first."""

import pytest

from tenure.algorithms.writing.facts import FactStatement, extract_facts
from tenure.contracts.research.tools import FactKind
from tests.passages import passage
from tests.worlds import encode

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
def test_each_kind_has_its_statements(kind: FactKind, expected: str) -> None:
    """Quantities, dates, names and definitions are told apart, and a year is no quantity."""
    assert extract_facts("bread and dough of the bakery", kind, [passage(TEXT)], encode, 5) == [
        FactStatement(1, expected)
    ]


def test_every_statement_that_stands_alone_is_a_fact() -> None:
    """Without a kind all statements count, the nearest to the question first, each once, and none that leans."""
    again = passage(DATE, source="other")
    found = extract_facts("When was the bakery of the town founded?", "any", [passage(TEXT), again], encode, 9)

    assert found[0] == FactStatement(1, DATE)
    assert LEANING not in [fact.text for fact in found]
    assert len({fact.text for fact in found}) == len(found)


def test_what_is_far_from_the_question_is_left_out() -> None:
    """A statement needs a share of the best one's weight, and there is an end to them."""
    found = extract_facts("How long does the dough rise?", "any", [passage(TEXT)], encode, 9)

    assert found[0] == FactStatement(1, FIGURE)
    assert extract_facts("How long does the dough rise?", "any", [passage(TEXT)], encode, 1) == found[:1]
    assert len(found) < 4


def test_code_states_no_facts() -> None:
    """Where no prose is, there is nothing to tell."""
    assert extract_facts("bread", "any", [passage("x = 1", kind="code")], encode, 5) == []
