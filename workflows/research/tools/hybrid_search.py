"""The tool `hybrid_search`: search by words and meaning."""

from pydantic import Field

from tenure.contracts.research.tools import Observation, ShortText, ToolArguments
from workflows.research.tool import Tool
from workflows.research.tool_context import ToolContext


class HybridSearchArguments(ToolArguments):
    """Arguments of `hybrid_search`."""

    query: ShortText
    """Words to look for, with the names and terms that the passages should have."""
    k: int = Field(default=8, ge=1, le=20)
    """Passages wanted."""


async def search_by_words_and_meaning(context: ToolContext, arguments: HybridSearchArguments) -> Observation:
    """Search with the weights that every other search of a task uses."""
    return await context.search(arguments.query, arguments.k)


TOOL = Tool(
    name="hybrid_search",
    description="Finds passages by their words and their meaning together; the best first search for names and terms.",
    arguments=HybridSearchArguments,
    bounds="at most 20 passages; counts against the budget of searches",
    use=search_by_words_and_meaning,
    query=lambda arguments: arguments.query,
)
