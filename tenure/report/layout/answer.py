"""Compose the answer to a follow-up question: the text, the cited sources and their quotes."""

from pathlib import PurePath

from tenure.algorithms.text.printable import flatten
from tenure.contracts.result.ask import AskReply
from tenure.report.layout.claims import ClaimLayout
from tenure.report.layout.marks import NUMERIC
from tenure.report.layout.references import list_references
from tenure.report.layout.text import format_words, make_line
from tenure.report.layout.tree import BlockNode, ListNode, ParagraphNode


def compose_answer(answer: AskReply, base: PurePath | None = None) -> tuple[BlockNode, ...]:
    """Compose the blocks of an answer."""
    claims = ClaimLayout({source.n: source for source in answer.sources})
    sentences = (claim for claim in answer.claims if not claim.part)  # excerpts are quotes themselves
    cited = {(c.source, c.start, flatten(c.quote)) for claim in sentences for c in claim.citations}
    quotes = tuple(make_line(f"{NUMERIC.mark(source)} “{quote}”") for source, _, quote in sorted(cited))
    return (
        *claims.set_claims(answer.claims),
        ParagraphNode(format_words("Sources", "strong")),
        ListNode(list_references(answer.sources, NUMERIC, base)),
        *((ParagraphNode(format_words("Quotes", "strong")), ListNode(quotes)) if quotes else ()),
    )
