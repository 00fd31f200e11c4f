"""Render the answer to a follow-up question as Markdown: the text, the cited sources and their quotes."""

from pathlib import PurePath

from tenure.contracts.result.ask import AskReply
from tenure.report.render.escaping import escape
from tenure.report.render.marks import NUMERIC, to_markdown
from tenure.report.render.references import render_reference
from tenure.report.render.sources.links import choose_base


def render_answer(answer: AskReply, base: PurePath | None = None) -> str:
    """Render an answer as Markdown.

    Args:
        answer: the answer.
        base: folder to which paths of sources are shown relative if they are below it.
    """
    base = choose_base([source.uri for source in answer.sources], base)
    sources = "\n".join(f"- [{source.n}] {render_reference(source, base)}" for source in answer.sources)
    cited = {(c.source, c.start, c.quote): None for claim in answer.claims for c in claim.citations}
    quotes = "\n".join(f"- [{source}] “{escape(quote)}”" for source, _, quote in sorted(cited))
    return f"{to_markdown(answer.claims, NUMERIC)}\n\n**Sources**\n\n{sources}\n\n**Quotes**\n\n{quotes}\n"
