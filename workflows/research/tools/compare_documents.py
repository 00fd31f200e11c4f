"""The tool `compare_documents`: comparison of two documents by criteria."""

from tenure.algorithms.research.observations import format_comparison, list_cited_chunks
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.tools import Observation, PassageNumber, ShortText, ToolArguments
from tenure.roles.claims import document_comparer
from tenure.roles.claims.document_comparer import DocumentComparerInput
from workflows.research.tool import Tool
from workflows.research.tool_context import JUDGED_RELIABILITY, ToolContext, observe_lines

MAX_PASSAGES = 6
"""Passages of each document that are read."""


class CompareDocumentsArguments(ToolArguments):
    """Arguments of `compare_documents`."""

    first: PassageNumber | ShortText
    """Number of a passage of one document, or its title."""
    second: PassageNumber | ShortText
    """Number of a passage of the other, or its title."""
    criteria: ShortText
    """Criteria of the comparison."""


async def compare_documents(context: ToolContext, arguments: CompareDocumentsArguments) -> Observation:
    """Search both documents by the criteria and have the results compared."""
    first, second = await _find_passage(context, arguments.first), await _find_passage(context, arguments.second)
    if first is None or second is None:
        missing = arguments.first if first is None else arguments.second
        return Observation(problem=f"no document is called “{missing}”: search, and name passages by their numbers")
    if first.source == second.source:
        return Observation(problem="both passages belong to one document: name passages of two")
    sides = [await context.search_document(passage, arguments.criteria, MAX_PASSAGES) for passage in (first, second)]
    passages = (*sides[0], *sides[1])
    comparison = await context.clients.models.ask(
        document_comparer.ROLE,
        DocumentComparerInput(criteria=arguments.criteria, first_document_passages=len(sides[0])),
        passages,
        summary=arguments.criteria,
    )
    numbers = context.get_passage_numbers(passages)
    lines = [format_comparison(point, numbers) for point in comparison.points]
    sides_cited = [side for point in comparison.points for side in (point.first, point.second) if side]
    nothing = "nothing to compare was found in these passages"
    return observe_lines(lines, passages, JUDGED_RELIABILITY, nothing, list_cited_chunks(sides_cited))


async def _find_passage(context: ToolContext, document: int | str) -> PassageRef | None:
    """Return the passage with a number, or the best one of the document with a title; None if there is none."""
    if isinstance(document, int):
        return context.get_passage(document)
    return await context.find_document(document)


TOOL = Tool(
    name="compare_documents",
    description="Compares two documents: what both say, in what they differ, what only one of them says.",
    arguments=CompareDocumentsArguments,
    bounds="6 passages of each document; two searches and one model call",
    use=compare_documents,
)
