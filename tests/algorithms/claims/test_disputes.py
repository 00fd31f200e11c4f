"""Tests of the rules that decide disputes by origin and date."""

import pytest

from tenure.algorithms.claims.disputes import (
    build_dispute_query,
    decide_dispute,
    describe_outcome,
    find_agreeing_sentence,
    find_primary_reason,
    judge_sentence,
)
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.disputes import DisputeSide, DisputeSource, SourceStanding
from tenure.contracts.evidence.passages import Citation
from tests.support.passages import passage

TWO, NINE = "The dough of rye bread rises for 2 hours.", "The dough of rye bread rises for 9 hours."


def source(name: str, side: DisputeSide, found: bool = False) -> DisputeSource:
    """Return a source that takes a side."""
    citation = Citation(source=SourceId(name), start=0, end=len(name), quote=name)
    return DisputeSource(citation=citation, side=side, found=found)


def standing(name: str, published: str = "", primary: str = "") -> SourceStanding:
    """Return the date and origin of a source."""
    return SourceStanding(source=SourceId(name), title=name.title(), published=published, primary=primary)


@pytest.mark.parametrize(
    ("old", "new", "status", "side", "words"),
    [
        (("2016", ""), ("2024-05-01", ""), "resolved", "b", "“New” (2024-05-01) is later than “Old” (2016)"),
        (("2016", ""), ("2016-12-30", ""), "disputed", None, ""),
        (("2016", ""), ("", ""), "disputed", None, ""),
        (("", ""), ("", ""), "disputed", None, ""),
        (("", "it is official"), ("", ""), "resolved", "a", "“Old” is a primary source (it is official)"),
        (("", ""), ("2024", "it is named “standard”"), "resolved", "b", "“New” (2024) is a primary source"),
        (("2016", "it is official"), ("2024", ""), "disputed", None, "But the other side is newer"),
        (("2016", ""), ("2024", "it is official"), "resolved", "b", "It is also the newer side"),
        (
            ("2016", "it is official"),
            ("2016", "it is a standard"),
            "disputed",
            None,
            "",
        ),
        (("about noon", ""), ("2024", ""), "disputed", None, ""),
    ],
)
def test_origin_and_date_decide_a_dispute(
    old: tuple[str, str], new: tuple[str, str], status: str, side: str | None, words: str
) -> None:
    """A primary or newer side decides; unknown, overlapping or opposed origins and dates leave the dispute open."""
    outcome = decide_dispute(
        [source("old", "a"), source("new", "b")], [standing("old", *old), standing("new", *new)], "dough"
    )

    assert (outcome.status, outcome.side) == (status, side)
    assert words in outcome.reason and bool(outcome.reason) == bool(words)


def test_a_newer_source_that_the_search_found_decides() -> None:
    """Two sources of the same year are decided by a third one that is later and agrees with one of them."""
    sources = [source("old", "a"), source("new", "b"), source("third", "b", found=True)]
    standings = [standing("old", "2016"), standing("new", "2016"), standing("third", "2025-01")]

    outcome = decide_dispute(sources, standings, "dough")

    assert (outcome.status, outcome.side) == ("resolved", "b")
    assert "“Third” (2025-01) is later than “Old” (2016)" in outcome.reason
    assert [one.published for one in outcome.sources] == ["2016", "2016", "2025-01"]


def test_a_later_source_on_the_other_side_keeps_a_dispute_open() -> None:
    """A side is newer only if its newest source is later than every source of the other side."""
    sources = [source("old", "a"), source("new", "b"), source("third", "a", found=True)]
    standings = [standing("old", "2016"), standing("new", "2020"), standing("third", "2020")]

    outcome = decide_dispute(sources, standings, "dough")

    assert outcome.status == "disputed"
    assert describe_outcome("kneading", outcome) == "Sources disagree on “kneading”. Still disputed."


def test_a_position_is_never_resolved() -> None:
    """Neither a date nor an origin decides between evidence for and against; both are named."""
    sources = [source("old", "a"), source("new", "b")]
    standings = [standing("old", "2016", "it is official"), standing("new", "2024")]

    outcome = decide_dispute(sources, standings, "dough", is_exclusive=False)

    assert (outcome.status, outcome.side) == ("disputed", None)
    assert "The newest dated source, “New” (2024), is against it." in outcome.reason
    assert "“Old” (2016), a primary source (it is official), is for it." in outcome.reason
    assert describe_outcome("kneading", outcome).startswith("Sources disagree on “kneading”. Still disputed: Evidence")


@pytest.mark.parametrize(
    ("a", "b", "sentence", "side"),
    [
        (TWO, NINE, "According to the guild, dough of rye bread rises for 9 hours.", "b"),
        (TWO, NINE, "The dough of rye bread rises for 2 hours in summer.", "a"),
        (TWO, NINE, "The dough of rye bread rises for 5 hours.", None),
        (TWO, NINE, "The dough of rye bread rises for 2 or for 9 hours.", None),
        (TWO, NINE, "An oven has 9 bricks.", None),
        ("Rye needs salt.", "Rye does not need salt.", "Rye dough does not need any salt.", "b"),
        ("Rye needs salt.", "Rye does not need salt.", "Rye dough needs salt.", "a"),
        (
            "Support is optional in rye bread.",
            "Support is required in rye bread.",
            "Support in rye bread is required.",
            "b",
        ),
        ("Cheese.", "Bread.", "Wine.", None),
        (
            "Mirrored messages keep the numbers of the first stream.",
            "A mirror copies data from one other stream as far as possible.",
            "A mirror of a stream has its own storage.",
            None,
        ),
    ],
)
def test_a_sentence_agrees_with_the_statement_whose_words_it_has(
    a: str, b: str, sentence: str, side: str | None
) -> None:
    """Numbers, words and negations that only one statement has decide; a third account agrees with neither."""
    assert judge_sentence(a, b, sentence) == side


def test_the_agreeing_sentence_of_a_passage_is_found() -> None:
    """Questions and sentences on other subjects are skipped."""
    found = find_agreeing_sentence(TWO, NINE, passage(f"Rye is a grass. {TWO[:-1]}? {NINE} The end."))

    assert found is not None and (found[0], found[1].text) == ("b", NINE)
    assert find_agreeing_sentence(TWO, NINE, passage("Rye is a grass.")) is None


def test_a_query_names_the_common_subject() -> None:
    """The words that differ are left out, and words for a primary or newer source are added."""
    query = build_dispute_query(TWO, NINE)

    assert query.startswith("dough rye bread rises hours: official specification")
    assert "2" not in query and "9" not in query
    assert build_dispute_query("Yes.", "No.", "the salt").startswith("the salt: ")


def test_a_title_or_a_file_name_says_that_a_source_is_official() -> None:
    """Specifications, standards and official publications name themselves so."""
    assert find_primary_reason("HTTP Specification", "x") == "it is named “specification”"
    assert find_primary_reason("Version 2", "https://example.org/changelog.md?raw") == "it is named “changelog”"
    assert find_primary_reason("My opinion", "https://example.org/standard/y") == ""
