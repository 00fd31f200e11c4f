"""What two things share by their sources, and where they part."""

from tenure.algorithms.fallback.analogies import find_analogy
from tests.passages import passage
from tests.worlds import encode

QUESTION = "Compare bread and cheese"
BREAD = "Bread needs a warm cellar and two hours of patience before it is sold."
CHEESE = "Cheese needs a warm cellar and two years of patience before it is sold."
BOTH = "Bread and cheese are both made by fermentation."
APART = "Bread is baked in an oven, whereas cheese is never heated that far."


def test_patterns_are_mapped_and_limits_named() -> None:
    """What both share comes first, then pairs of statements that say the same of each, then what sets them apart."""
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


def test_no_statement_is_mapped_twice() -> None:
    """A statement that is like two others is the counterpart of the likest alone."""
    again = passage("Bread needs a warm cellar and two hours of patience before it is sold, too.", "again")
    cheese = passage(CHEESE, "cheese", title="Cheese")
    both = passage(f"{BOTH} {APART}", "x", title="Food")

    assert find_analogy(QUESTION, [passage(BREAD), again, cheese], encode).steps == ()
    assert [s.kind for s in find_analogy(QUESTION, [passage(BREAD), again, cheese, both], encode).steps].count(
        "mapping"
    ) == 1


def test_what_is_not_compared_is_no_analogy() -> None:
    """A question with one subject, and sources that say nothing alike, make none."""
    assert find_analogy("How is bread made?", [passage(BREAD)], encode).steps == ()
    assert (
        find_analogy(
            QUESTION, [passage(BREAD), passage("Cheese is a gift of the moon.", "c", title="Cheese")], encode
        ).steps
        == ()
    )
    assert find_analogy(QUESTION, [], encode).steps == ()
