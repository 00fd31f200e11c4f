"""Test what each choice of proofs leaves of a report, in every kind of block."""

import pytest

from tenure.contracts.choices import ReportProofs
from tenure.report.layout.proofs import choose_proofs
from tenure.report.layout.report import compose_report
from tenure.report.layout.tree import CitationNode, ParagraphNode, PartNode, ReportTree, TextSpan, list_citations
from tenure.report.render.markdown import render_markdown
from tests.report.samples import full, varied


def list_ids(report: ReportTree) -> set[str]:
    return {part.id for part in report.parts}


@pytest.mark.parametrize(
    ("proofs", "missing"), [("short", {"quotes", "made"}), ("none", {"quotes", "made", "references"})]
)
def test_parts_that_prove_are_left_out(proofs: ReportProofs, missing: set[str]) -> None:
    """The text of the report stays as it is, and so does its head."""
    whole, chosen = compose_report(full()), compose_report(full(), proofs=proofs)

    assert list_ids(whole) - list_ids(chosen) == missing
    assert chosen.head == whole.head


def test_a_record_of_its_own_has_what_a_short_report_lacks() -> None:
    """Short and only make the full report together."""
    whole, short, only = (compose_report(full(), proofs=proofs) for proofs in ("full", "short", "only"))

    assert [*short.blocks, *only.blocks] == list(whole.blocks)
    assert only.head == ()


def test_without_citations_remarks_stay() -> None:
    """Tables, lists, excerpts and code lose their marks; a remark that a reader must see does not go with them."""
    report = compose_report(varied(), proofs="none")
    left = [node for block in report.blocks for node in list_citations(block)]

    assert left and all(not node.marks and not node.unsourced for node in left)
    assert {node.note for node in left} == {
        node.note for block in compose_report(varied(), proofs="short").blocks for node in list_citations(block)
    }
    assert "[1]" not in render_markdown(full(), proofs="none")
    assert "[1]" in render_markdown(full(), proofs="short")


def test_a_report_that_is_only_a_record_keeps_it() -> None:
    """A refused task explains itself in the record, so it is shown with every choice."""
    line = (TextSpan("refused"), CitationNode("", "supported", ()))
    report = ReportTree("No", (), (PartNode("made", "How", (ParagraphNode(line),)),))

    assert choose_proofs(report, "none") == report
