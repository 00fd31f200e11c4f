"""Test the figures of the benchmark of reports."""

from dataclasses import replace

from benchmarks.reports import QUESTIONS, figures, repeated
from tenure.contracts.base import SourceId
from tenure.knowledge.store.catalogue import SourceRecord
from tests.report.samples import SOURCES, full

STORED = {
    id: SourceRecord(
        uri=source.uri,
        title=source.title,
        text=source.text,
        author=source.author,
        published=source.published,
        accessed=source.accessed,
        id=id,
        kind="file",
    )
    for id, source in SOURCES.items()
}


def test_a_report_that_holds_is_found_to_hold() -> None:
    """Every quote is where it should be, and what is repeated or cites nothing is counted."""
    found = figures([full()], STORED)

    assert (found.reports, found.empty, found.verbatim, found.invented) == (1, 0, 1.0, 0)
    assert (found.in_sections, found.cited) == (5, 1.0)
    assert found.repeated == 3
    assert found.shortcomings == ["sentences that are repeated"]


def test_repetition_is_seen_through_spacing_and_capitals() -> None:
    """The same words are the same sentence."""
    result = full()
    claim = result.sections[0].claims[0]
    again = claim.model_copy(update={"text": "the  SEA rises twice a day"})
    section = result.sections[0].model_copy(update={"claims": (claim, again)})
    alone = {"abstract_claims": (), "synthesis": None, "sections": (section,)}

    assert repeated(result.model_copy(update=alone)) == ["the sea rises twice a day"]


def test_false_quotes_and_invented_sources_are_counted() -> None:
    """A text that has changed, a source that is gone and one with another address are all found."""
    tides, moon = (STORED[SourceId(id)] for id in ("tides", "moon"))
    changed = figures([full()], {SourceId("tides"): replace(tides, text="x" * 100), SourceId("moon"): moon})
    gone = figures([full()], {SourceId("tides"): tides})
    moved = figures([full()], {**STORED, SourceId("moon"): replace(moon, uri="https://evil.example")})

    assert 0 < changed.verbatim < 1
    assert gone.invented == moved.invented == 1
    assert "references that are no sources" in moved.shortcomings


def test_a_report_without_text_falls_short() -> None:
    """Nothing claimed is nothing false, and still no report."""
    found = figures([full(sections=(), abstract_claims=(), synthesis=None, contradictions=())], STORED)

    assert (found.verbatim, found.cited) == (1.0, 1.0)
    assert found.shortcomings == ["a report without a section"]


def test_there_are_thirty_questions() -> None:
    """The benchmark asks thirty different ones."""
    assert len(set(QUESTIONS)) == 30
