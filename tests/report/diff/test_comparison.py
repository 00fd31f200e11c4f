"""Test the difference between two result documents, and its Markdown."""

from tenure.contracts.evidence.passages import Draft
from tenure.contracts.research.report import SectionDraft
from tenure.contracts.result.result import Result, ResultContradiction, SourceEntry
from tenure.report.assemble import assemble_result
from tenure.report.diff.comparison import compare_results
from tenure.report.diff.markdown import NO_DIFFERENCE, render_diff
from tests.report.samples import FALLS, NEAP, PULLS, RISES, SOURCES, full, hostile, paragraph, programmed, report


def written(*claims: object, **changes: object) -> Result:
    """Return a report of one section, without abstract."""
    section = SectionDraft(topic="The sea", draft=paragraph(*claims), coverage=0.5)  # type: ignore[arg-type]
    return assemble_result(report(abstract=Draft(), sections=(section,), **changes), SOURCES)


def test_a_report_does_not_differ_from_itself() -> None:
    """Nothing is new, gone or changed, and the page says so."""
    found = compare_results(full(), full())

    assert (found.a.findings, found.b.findings, found.changed, found.conclusions, found.metrics) == ((), (), (), (), ())
    assert found.unchanged == 4
    assert NO_DIFFERENCE in render_diff(found)


def test_findings_are_gone_new_or_the_same() -> None:
    """Statements of only one report are listed for it, with their quotes."""
    found = compare_results(written(RISES, FALLS), written(RISES, PULLS))

    assert [one.text for one in found.a.findings] == [FALLS.text]
    assert [one.text for one in found.b.findings] == [PULLS.text]
    assert found.b.findings[0].quotes[0].quote == PULLS.citations[0].quote
    assert (found.unchanged, found.changed) == (1, ())
    assert [source.title for source in found.common_sources] == ["On tides"]
    assert [source.title for source in found.b.sources] == ["The Moon's pull"]
    text = render_diff(found)
    assert f"## Findings of {found.b.id} alone" in text and "From: “The Moon pulls the water towards it.”" in text


def test_a_sentence_that_has_moved_to_the_abstract_is_the_same() -> None:
    """It is no finding of one report alone when the other has it above its sections."""
    moved = assemble_result(
        report(abstract=paragraph(FALLS), sections=(SectionDraft(topic="The sea", draft=paragraph(RISES)),)), SOURCES
    )
    found = compare_results(written(RISES, FALLS), moved)

    assert (found.a.findings, found.b.findings, found.unchanged) == ((), (), 2)


def test_versions_of_a_finding_are_compared() -> None:
    """A sentence in other words on the same quote, another status, or other sources is one finding that changed."""
    reworded = RISES.model_copy(update={"text": "Two times a day, the sea rises and stays high."})
    doubted = NEAP.model_copy(update={"status": "neutral"})
    elsewhere = FALLS.model_copy(update={"citations": PULLS.citations})
    found = compare_results(written(RISES, NEAP, FALLS), written(reworded, doubted, elsewhere))

    assert [(one.text_differs, one.support_differs, one.evidence_differs) for one in found.changed] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert (found.a.findings, found.b.findings) == ((), ())
    text = render_diff(found)
    assert "**The sea**: reworded" in text and "*(not confirmed)*" in text


def test_the_nearest_statements_are_paired() -> None:
    """A statement is compared with the one that is most like it, and each with one only."""
    near = RISES.model_copy(update={"text": "The sea rises twice."})
    found = compare_results(written(RISES), written(near, RISES))

    assert (found.unchanged, [one.text for one in found.b.findings]) == (1, [near.text])


def test_sources_are_known_by_their_addresses() -> None:
    """Ids and numbers are each report's own; an address in both makes one common source."""
    a = written(RISES)
    renamed = a.sources[0].model_copy(update={"id": "other"})
    found = compare_results(a, a.model_copy(update={"sources": (renamed,)}))

    assert (found.a.sources, found.b.sources) == ((), ())
    assert SourceEntry.model_validate(renamed).uri == found.common_sources[0].uri


def test_conclusions_contradictions_and_figures_are_compared() -> None:
    """Different abstracts and syntheses are shown with each other, and so are contradictions and figures."""
    a = full()
    rises, neap = a.contradictions[0].a, a.contradictions[0].b
    turned = full(contradictions=(ResultContradiction(a=neap, b=rises, severity="low"),))
    bare = full(abstract_claims=(), synthesis=None, contradictions=(), evaluation=None)
    found = compare_results(a, bare)

    assert [one.part for one in found.conclusions] == ["abstract", "resolution"]
    assert found.conclusions[0].b == ""
    assert len(found.a.contradictions) == 1 and not found.b.contradictions
    assert [(one.name, one.a, one.b) for one in found.metrics] == [("parts of the question without an answer", 0, None)]
    assert compare_results(a, turned).a.contradictions == ()
    text = render_diff(found)
    assert "**Resolution**" in text and ": —" in text and "| parts of the question without an answer | 0 | — |" in text


def test_programs_are_compared_line_by_line() -> None:
    """The difference of two programs is a unified diff in a fence that it cannot close."""
    one, other = (programmed(f"def double(n):\n    return {body}\n") for body in ("2 * n", "n + n  # ```"))
    found = compare_results(one, other)

    assert "-    return 2 * n" in found.program and "+    return n + n  # ```" in found.program
    assert "````diff" in render_diff(found)


def test_untrusted_text_is_escaped() -> None:
    """Text of pages, models and users is shown as text."""
    text = render_diff(compare_results(hostile("# <b>1. [x](y) | z"), full()))

    assert "[x](y)" not in text
    assert not [line for line in text.splitlines() if line.startswith("# ")][1:]
