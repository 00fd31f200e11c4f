"""The answer to a follow-up question as Markdown: the text, the sources it cites, and their words."""

from pathlib import PurePath

from tenure.contracts.result.ask import Answer
from tenure.report.render.escaping import escape
from tenure.report.render.marks import NUMERIC, to_markdown
from tenure.report.render.references import reference


def render(answer: Answer, base: PurePath | None = None) -> str:
    """Set an answer as Markdown.

    Args:
        answer: the answer.
        base: folder to which paths of sources are shown relative, where they are under it.
    """
    sources = "\n".join(f"- [{source.n}] {reference(source, base)}" for source in answer.sources)
    cited = {(c.source, c.start, c.quote): None for claim in answer.claims for c in claim.citations}
    quotes = "\n".join(f"- [{source}] “{escape(quote)}”" for source, _, quote in sorted(cited))
    return f"{to_markdown(answer.claims, NUMERIC)}\n\n**Sources**\n\n{sources}\n\n**Quotes**\n\n{quotes}\n"
