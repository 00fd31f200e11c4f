"""The tool `web_search`: search the web, read the best pages, search their passages."""

from tenure.contracts.research.tools import Observation, ShortText, ToolArguments
from workflows.research.tool import Tool
from workflows.research.tool_context import PASSAGES_PER_WEB_SEARCH, ToolContext


class WebSearchArguments(ToolArguments):
    """Arguments of `web_search`."""

    query: ShortText
    """Words to look for. The best pages that were not read yet are read, and their passages searched."""


async def search_web(context: ToolContext, arguments: WebSearchArguments) -> Observation:
    """Read new pages on a query, then search the pages of the run."""
    return await context.search(
        arguments.query, PASSAGES_PER_WEB_SEARCH, corpora=(context.web_scope.corpus,), browse=True
    )


TOOL = Tool(
    name="web_search",
    description="Searches the web, reads the best pages that were not read yet, and finds passages in them.",
    arguments=WebSearchArguments,
    bounds="pages as `--pages` says; search providers, domains and dates as the run's permission says; each query once",
    use=search_web,
    requires="web",
    query=lambda arguments: arguments.query,
)
