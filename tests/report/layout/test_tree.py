"""Test the document tree."""

from tenure.report.layout.tree import (
    CitationNode,
    CodeNode,
    DefinitionsNode,
    ListNode,
    ParagraphNode,
    PartNode,
    QuoteNode,
    ReportTree,
    TableNode,
    TextSpan,
    list_citations,
)

LINES = tuple((TextSpan(note), CitationNode(note, "supported", ())) for note in "abcdefg")


def test_citations_are_found_in_every_block() -> None:
    """Paragraphs, lists, terms, cells, captions and sub-parts have citations; excerpts are quotes themselves."""
    a, b, c, d, e, f, g = LINES
    part = PartNode(
        "x",
        "X",
        (
            ParagraphNode(a),
            ListNode((b, c)),
            DefinitionsNode((((TextSpan("Term"),), d),)),
            PartNode("", "Sub", (TableNode((), ((e,),)), CodeNode("x = 1", caption=f))),
            QuoteNode((ParagraphNode(()),), g),
        ),
    )

    assert "".join(node.note for node in list_citations(part)) == "abcdef"


def test_the_contents_are_the_parts() -> None:
    """Blocks between the parts, such as the short answer, are not in the table of contents."""
    part = PartNode("x", "X", ())

    assert ReportTree("T", (), (ParagraphNode(()), part)).parts == (part,)
