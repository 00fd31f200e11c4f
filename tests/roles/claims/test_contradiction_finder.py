"""Tests of the contradiction finder's fallback and of the use of its findings."""

import re
from dataclasses import replace

from tenure.contracts.base import SourceId
from tenure.roles.base import Evidence
from tenure.roles.claims.contradiction_finder import (
    ContradictionFinderInput,
    ContradictionFinderOutput,
    FoundContradiction,
    build_contradictions,
    fallback,
    has_pairs,
    pair_statements,
    render,
)
from tests.support.passages import passage
from tests.support.worlds import encode

TWO = "The dough of rye bread has to rise for 2 hours in the warm kitchen."
NINE = "The dough of rye bread has to rise for 9 hours in the warm kitchen."
SAME = "Rye bread dough in a warm kitchen of the bakery rises and rests until it is ready."
INPUT = ContradictionFinderInput(question="How long does dough rise?")
SIDES = pair_statements(Evidence((passage(f"{SAME} {TWO}", "rye", 50), passage(NINE, "other", 7)), encode))


def test_contradictions_have_both_quotes() -> None:
    """A different number is reported with the quotes of both sides and their positions."""
    (found,) = build_contradictions(INPUT, fallback(INPUT, SIDES), SIDES).found

    assert {found.a.quote, found.b.quote} == {TWO, NINE}
    assert (found.severity, found.about) == ("medium", "2 hours against 9 hours")
    assert {found.a.start, found.b.start} == {50 + len(SAME) + 1, 7}


def test_invalid_pairs_are_dropped() -> None:
    """An invented pair is dropped, and a repeated pair counts once."""
    said = [FoundContradiction(pair=n, severity="high", about="x") for n in (0, 1, 1, 7)]

    found = build_contradictions(
        INPUT, ContradictionFinderOutput(contradictions=tuple(said)), replace(SIDES, passages=SIDES.passages[:2])
    ).found

    assert len(found) == 1


def test_pairs_stay_together_in_the_prompt() -> None:
    """Statements that follow each other in one document are shown in their own pairs, under running numbers."""
    sides = (passage("One.", "rye", 0), passage("A.", "oat"), passage("Two.", "rye", 5), passage("B.", "oat", 3))
    user = render(INPUT, Evidence(sides))[-1].content

    assert re.findall(r'Pair (\d):\n<passage n="(\d)".*\n(.*)\n.*\n<passage n="(\d)".*\n(.*)', user) == [
        ("1", "1", "One.", "2", "A."),
        ("2", "3", "Two.", "4", "B."),
    ]


def test_no_pairs_give_no_contradictions() -> None:
    """Sources on different subjects are not compared."""
    apart = pair_statements(Evidence((passage(TWO, "rye"),), encode))

    assert not has_pairs(INPUT, apart)
    assert fallback(INPUT, apart) == ContradictionFinderOutput(contradictions=())


def test_sections_of_one_source_are_about_different_cases() -> None:
    """A heading can be a condition: under "Archived" the same may be forbidden that is allowed under "Active"."""
    may = passage("The index must allow uploads to the project.", "rules", 0)
    must_not = passage("The index must not allow uploads to the project.", "rules", 90)
    archived = replace(must_not, heading_path=("Archived",))
    other = replace(archived, source=SourceId("other"))

    assert len(fallback(INPUT, Evidence((may, must_not), encode)).contradictions) == 1
    assert fallback(INPUT, Evidence((may, archived), encode)).contradictions == ()
    assert len(fallback(INPUT, Evidence((may, other), encode)).contradictions) == 1
