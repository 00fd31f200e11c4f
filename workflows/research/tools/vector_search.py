"""The tool `vector_search`: search by meaning."""

from pydantic import Field

from tenure.contracts.research.tools import Observation, ShortText, ToolArguments
from workflows.research.tool import Tool
from workflows.research.tool_context import ToolContext


class VectorSearchArguments(ToolArguments):
    """Arguments of `vector_search`."""

    query: ShortText
    """A sentence or a question: passages near in meaning are found, in whatever words."""
    k: int = Field(default=8, ge=1, le=20)
    """Passages wanted."""


async def search_by_meaning(context: ToolContext, arguments: VectorSearchArguments) -> Observation:
    """Search by dense vectors alone."""
    return await context.search(arguments.query, arguments.k, "dense")


TOOL = Tool(
    name="vector_search",
    description="Finds passages near in meaning to a question, in whatever words they say it.",
    arguments=VectorSearchArguments,
    bounds="at most 20 passages; counts against the budget of searches",
    use=search_by_meaning,
    query=lambda arguments: arguments.query,
)
