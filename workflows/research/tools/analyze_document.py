"""The tool `analyze_document`: ask one document a question."""

from tenure.contracts.research.tools import Observation, PassageNumber, ShortText, ToolArguments
from workflows.research.tool import Tool
from workflows.research.tool_context import ToolContext

MAX_PASSAGES = 12
"""Passages of the document that are read."""


class AnalyzeDocumentArguments(ToolArguments):
    """Arguments of `analyze_document`."""

    passage: PassageNumber
    """Number of a passage of the document."""
    question: ShortText
    """Question to the document."""


async def analyze_document(context: ToolContext, arguments: AnalyzeDocumentArguments) -> Observation:
    """Search one document and answer from its passages."""
    passage = context.get_passage(arguments.passage)
    passages = await context.search_document(passage, arguments.question, MAX_PASSAGES)
    return await context.answer_from(passages, arguments.question)


TOOL = Tool(
    name="analyze_document",
    description="Asks one document a question: finds its passages on it and answers from them.",
    arguments=AnalyzeDocumentArguments,
    bounds="12 passages of the document; one search and one model call",
    use=analyze_document,
)
