"""The contradiction finder's twin, and what is made of its findings."""

from tenure.roles.base import Evidence
from tenure.roles.claims.contradiction_finder import (
    ContradictionFinderInput,
    ContradictionFinderOutput,
    FoundContradiction,
    disagreements,
    offline,
    paired,
)
from tests.passages import passage
from tests.worlds import encode

TWO = "The dough of rye bread has to rise for 2 hours in the warm kitchen."
NINE = "The dough of rye bread has to rise for 9 hours in the warm kitchen."
SAME = "Rye bread dough in a warm kitchen of the bakery rises and rests until it is ready."
INPUT = ContradictionFinderInput(question="How long does dough rise?")
SIDES = paired(Evidence((passage(f"{SAME} {TWO}", "rye", 50), passage(NINE, "other", 7)), encode))


def test_sources_that_say_otherwise_are_found_with_both_quotes() -> None:
    """A figure that differs is told with the words of both sides and where they stand."""
    (found,) = disagreements(offline(INPUT, SIDES), SIDES.passages)

    assert {found.a.quote, found.b.quote} == {TWO, NINE}
    assert (found.severity, found.about) == ("medium", "2 against 9")
    assert {found.a.start, found.b.start} == {50 + len(SAME) + 1, 7}


def test_pairs_that_do_not_exist_are_no_contradictions() -> None:
    """A model's invented pair is dropped, and a pair it names twice counts once."""
    said = [FoundContradiction(pair=n, severity="high", about="x") for n in (0, 1, 1, 7)]

    assert len(disagreements(ContradictionFinderOutput(contradictions=tuple(said)), SIDES.passages[:2])) == 1


def test_without_pairs_there_is_nothing_to_find() -> None:
    """Sources on different things are not compared."""
    apart = paired(Evidence((passage(TWO, "rye"),), encode))

    assert apart.passages == ()
    assert offline(INPUT, apart) == ContradictionFinderOutput(contradictions=())
