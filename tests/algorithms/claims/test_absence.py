"""Test statements of absence: which sentences are, what is searched for them, and which are left out unread."""

from typing import Any

import pytest

from tenure.algorithms.claims.absence import NOT_SEARCHED, find_unread_gaps, list_absences, withdraw_gaps
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import ReportPart, ReportText


def build(*claims: Claim, kind: Any = "section") -> ReportText:
    return ReportText(parts=(ReportPart(kind=kind, draft=Draft(blocks=(Block(claims=claims),))),))


AGE = Claim(text="How rye ages.", kind="gap", query="age of rye")
PRICE = Claim(text="Its price", kind="gap", query="price of rye")
CELL = Claim(text="–", kind="gap", label="Rye", column="Price")
TEXT = build(CELL, Claim(text="Rye rises."), AGE, Claim(text="The guide names no flour."), PRICE)


def test_every_absence_has_a_search() -> None:
    """Gaps come first, then sentences on the sources, then empty cells, which are searched by row and column."""
    assert [(one.number, one.gap.query) for one in list_absences(TEXT)] == [
        (3, "age of rye"),
        (5, "price of rye"),
        (4, "The guide names no flour."),
        (1, "Rye Price"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The sources name no metric for the age of rye.",
        "The migration guide promises no percentage.",
        "It is two hours by the baker's guide, which names no flour.",
        "No number of ovens, no amount of flour is stated for this load.",
        "The alarm itself is described without differences between versions.",
        "Mixed doughs are not listed as risky.",
        "Its age is unknown.",
        "The oldest dated entry is of 1999.",
        "This is the only documented way.",
    ],
)
def test_statements_on_what_sources_lack_are_found(text: str) -> None:
    """Denials, superlatives and "without" of what sources state are statements of absence."""
    assert len(list_absences(build(Claim(text=text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Rye does not rise in the cold.",
        "Only rye is aged.",
        "First knead, then wait.",
        "Loaves fail to bake from source grain, because they contain no salt.",
        "If no warning can be given, the oven waits.",
        "The first loaf of the line was code-named Rye.",
        "The oldest oven is in Rome.",
        "Set `no-documented-flag` to true.",
        "See the guide for rye.",
    ],
)
def test_statements_on_things_are_none(text: str) -> None:
    """A denial or a superlative of a thing says nothing on what the sources have."""
    assert list_absences(build(Claim(text=text))) == []


def test_all_sentences_of_the_gaps_are_searched_for() -> None:
    """A sentence that cites a passage below the gaps is searched for too; gaps of the program and excerpts are not."""
    known = Claim(text="Only the age of old rye is given", query="")
    excerpt = Claim(text="The guide names no flour.", part="sentence")

    assert [one.claim for one in list_absences(build(known, kind="gaps"))] == [known]
    assert list_absences(build(excerpt, Claim(text="Nothing was found.", kind="gap"))) == []


def test_gaps_with_unread_passages_are_found() -> None:
    """A gap is unread if its search has found a passage that the author of the report did not have."""
    searches = {"age of rye": (2, 7), "price of rye": (2, 3), "Rye Price": (8,)}

    assert [one.number for one in find_unread_gaps(TEXT, searches, first_new=5)] == [3]
    assert find_unread_gaps(TEXT, searches, first_new=0) == []


def test_unread_gaps_are_left_out() -> None:
    """A gap whose passages were not read goes, and one without a search says so; cells and sentences stay."""
    kept, gone = withdraw_gaps(TEXT, {"age of rye": (2, 7)}, first_new=5)

    assert gone == [AGE.text]
    assert [claim.text for claim in kept.claims] == [
        *("–", "Rye rises.", "The guide names no flour."),
        f"Its price {NOT_SEARCHED}",
    ]
    assert withdraw_gaps(TEXT, {"age of rye": (2,), "price of rye": ()}, first_new=5) == (TEXT, [])
