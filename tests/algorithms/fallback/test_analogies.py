"""Tests of analogies."""

from tenure.algorithms.fallback.analogies import find_analogy
from tests.support.passages import passage
from tests.support.worlds import encode

QUESTION = "Compare bread and cheese"
BREAD = "Bread needs a warm cellar and two hours of patience before it is sold."
CHEESE = "Cheese needs a warm cellar and two years of patience before it is sold."
BOTH = "Bread and cheese are both made by fermentation."
APART = "Bread is baked in an oven, whereas cheese is never heated that far."


def test_analogy_has_features_mappings_and_limits() -> None:
    """Common features first, then pairs of similar statements, then contrasts."""
    found = find_analogy(
        QUESTION,
        [passage(BREAD), passage(CHEESE, "cheese", title="Cheese"), passage(f"{BOTH} {APART}", "x", title="Food")],
        encode,
    )

    assert [(step.kind, step.text, step.follows) for step in found.steps] == [
        ("pattern", BOTH, ()),
        ("pattern", BREAD, ()),
        ("mapping", CHEESE, (2,)),
        ("limit", APART, ()),
    ]
    assert found.conclusion is None


def test_statement_is_mapped_once() -> None:
    """A statement is paired with the most similar one only."""
    again = passage("Bread needs a warm cellar and two hours of patience before it is sold, too.", "again")
    cheese = passage(CHEESE, "cheese", title="Cheese")
    both = passage(f"{BOTH} {APART}", "x", title="Food")

    assert find_analogy(QUESTION, [passage(BREAD), again, cheese], encode).steps == ()
    assert [s.kind for s in find_analogy(QUESTION, [passage(BREAD), again, cheese, both], encode).steps].count(
        "mapping"
    ) == 1


def test_no_analogy() -> None:
    """A question on one subject, and sources without similar statements, give no analogy."""
    assert find_analogy("How is bread made?", [passage(BREAD)], encode).steps == ()
    assert (
        find_analogy(
            QUESTION, [passage(BREAD), passage("Cheese is a gift of the moon.", "c", title="Cheese")], encode
        ).steps
        == ()
    )
    assert find_analogy(QUESTION, [], encode).steps == ()
