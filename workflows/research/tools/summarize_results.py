"""The tool `summarize_results`: a short answer from passages that were seen."""

from pydantic import Field

from tenure.contracts.research.tools import Observation, PassageNumber, ShortText, ToolArguments
from workflows.research.tool import Tool
from workflows.research.tool_context import ToolContext

MAX_PASSAGES = 20
"""Passages that are read."""


class SummarizeResultsArguments(ToolArguments):
    """Arguments of `summarize_results`."""

    question: ShortText
    """Question that the summary answers."""
    passages: tuple[PassageNumber, ...] = Field(default=(), max_length=20)
    """Numbers of the passages; none for the best of all that were seen."""


async def summarize_results(context: ToolContext, arguments: SummarizeResultsArguments) -> Observation:
    """Answer a question from passages, without a search."""
    return await context.answer_from(context.select_passages(arguments.passages, MAX_PASSAGES), arguments.question)


TOOL = Tool(
    name="summarize_results",
    description="Answers a question in short from passages that were seen; searches nothing.",
    arguments=SummarizeResultsArguments,
    bounds="20 passages; one model call",
    use=summarize_results,
)
