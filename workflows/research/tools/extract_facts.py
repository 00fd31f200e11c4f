"""The tool `extract_facts`: single statements of passages, word for word."""

from pydantic import Field

from tenure.algorithms.research.observations import format_claim
from tenure.contracts.research.tools import FactKind, Observation, PassageNumber, ShortText, ToolArguments
from tenure.roles.claims import fact_extractor
from tenure.roles.claims.fact_extractor import FactExtractorInput
from workflows.research.tool import Tool
from workflows.research.tool_context import QUOTED_RELIABILITY, ToolContext, observe_lines

MAX_PASSAGES = 20
"""Passages that are read."""


class ExtractFactsArguments(ToolArguments):
    """Arguments of `extract_facts`."""

    question: ShortText
    """Subject of the facts."""
    kind: FactKind = "any"
    """Kind of statements: figures have a quantity, dates a date, names a name, definitions say what something is."""
    passages: tuple[PassageNumber, ...] = Field(default=(), max_length=20)
    """Numbers of the passages; none for the best of all that were seen."""


async def extract_facts(context: ToolContext, arguments: ExtractFactsArguments) -> Observation:
    """List single facts of passages, without a search."""
    passages = context.select_passages(arguments.passages, MAX_PASSAGES)
    draft = await context.clients.models.ask(
        fact_extractor.ROLE,
        FactExtractorInput(question=arguments.question, kind=arguments.kind),
        passages,
        summary=arguments.question,
    )
    numbers = context.get_passage_numbers(passages)
    lines = [format_claim(claim, numbers) for claim in draft.claims]
    return observe_lines(
        lines, passages, QUOTED_RELIABILITY, "these passages have no such facts: search, or ask for another kind"
    )


TOOL = Tool(
    name="extract_facts",
    description="Lists single statements of passages that were seen, word for word: figures, dates, names or "
    "definitions; searches nothing.",
    arguments=ExtractFactsArguments,
    bounds="20 passages, 20 facts; one model call",
    use=extract_facts,
)
