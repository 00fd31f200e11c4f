"""Test how claims become nodes."""

from tenure.contracts.result.result import ResultCitation, ResultClaim
from tenure.report.assemble import assemble_result
from tenure.report.layout.claims import ClaimLayout
from tenure.report.layout.tree import (
    CitationNode,
    CodeNode,
    DefinitionsNode,
    ListNode,
    ParagraphNode,
    PartNode,
    StatementNode,
    TableNode,
    TextSpan,
    list_citations,
)
from tests.report.layout.test_blocks import claim
from tests.report.samples import SOURCES, report, varied

QUOTE = ResultCitation(source=1, start=4, end=9, quote="words", before="Some", after="more")


def test_every_form_of_text_has_its_node() -> None:
    """Blocks below a sub-heading are a sub-part, and each form is a node of its own kind."""
    blocks = ClaimLayout().set_claims(varied().sections[0].claims)

    assert [type(block) for block in blocks] == [ParagraphNode, PartNode, PartNode]
    parts = [block for block in blocks if isinstance(block, PartNode)]
    assert [part.heading for part in parts] == ["Two", "Code"]
    assert [type(block) for part in parts for block in part.blocks] == [ListNode, DefinitionsNode, CodeNode, TableNode]


def test_marks_are_numbered_through_a_report() -> None:
    """Two texts of one layout have different marks, each with its sources, its brackets and its quotes in context."""
    result = assemble_result(report(), SOURCES)
    layout = ClaimLayout({source.n: source for source in result.sources})
    texts = (result.abstract_claims, result.sections[0].claims)
    citations = [node for claims in texts for block in layout.set_claims(claims) for node in list_citations(block)]
    marks = [mark for node in citations for mark in node.marks]

    assert [mark.id for mark in marks] == ["cite-1", "cite-2", "cite-3"]
    assert [(mark.before, mark.label, mark.after) for mark in marks] == [
        ("[", "1", "]"),
        ("[", "2", "]"),
        ("[", "1", "]"),
    ]
    assert [mark.title for mark in marks] == ["The Moon's pull", "On tides", "The Moon's pull"]
    assert [len(mark.quotes) for mark in marks] == [1, 2, 1]


def test_several_sources_are_one_citation() -> None:
    """Labels are separated within one pair of brackets, and a quote has its words, its context and its verdict."""
    other = QUOTE.model_copy(update={"source": 2})
    line = ClaimLayout().set_sentence(claim("So.", citations=(QUOTE, other)))
    node = line[1]

    assert isinstance(node, CitationNode)
    assert [mark.before + mark.label + mark.after for mark in node.marks] == ["[1, ", "2]"]
    (quote,) = node.marks[0].quotes
    assert (quote.before, quote.words, quote.after, quote.verdict) == ("Some", "words", "more", "supported")


def test_a_sentence_without_a_source_is_marked_only_if_it_needs_one() -> None:
    """A fact without a citation lacks its source; a gap has no citation at all."""
    fact = ResultClaim(text="So.", status="missing_citation", begins="paragraph")
    gap = ResultClaim(text="Nobody says it.", status="unverified", kind="gap", begins="paragraph")

    assert ClaimLayout().set_sentence(fact) == (
        StatementNode((TextSpan("So."),), "missing_citation"),
        CitationNode("", "missing_citation", (), unsourced="[unsourced]"),
    )
    assert ClaimLayout().set_sentence(gap) == (StatementNode((TextSpan("Nobody says it."),), "supported"),)
