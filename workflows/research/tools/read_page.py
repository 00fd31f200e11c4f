"""The tool `read_page`: read one web page and search its passages."""

from pydantic import Field
from temporalio import workflow

from activities.tools import ToolActivities
from tenure.contracts.research.tools import (
    MAX_LOOKUP_DOCUMENTS,
    LookupRequest,
    Observation,
    ShortText,
    ToolArguments,
)
from workflows.research.tool import Tool
from workflows.research.tool_context import PASSAGES_PER_WEB_SEARCH, ToolContext

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.text.known_urls import extract_urls, normalize_url
    from tenure.algorithms.text.urls import InvalidUrlError


class ReadPageArguments(ToolArguments):
    """Arguments of `read_page`."""

    url: str = Field(min_length=8, max_length=2_000, pattern=r"^https?://\S+$")
    """Its whole URL, with https:// or http://."""
    query: ShortText
    """Words to look for on the page."""


async def read_page(context: ToolContext, arguments: ReadPageArguments) -> Observation:
    """Read a page that may be read, then search it."""
    if not await _is_known(context, arguments.url):
        return Observation(
            problem=f"{arguments.url} occurs neither in the question nor in a document that was seen, and the person "
            "who asked did not name its domain: search the web instead"
        )
    assert context.clients.web, "the tool requires the web"
    page = await context.clients.web.read(arguments.url, arguments.query)
    if page.problem:
        return Observation(problem=page.problem)
    # The search also finds a page that an earlier step has read.
    return await context.search(
        arguments.query,
        PASSAGES_PER_WEB_SEARCH,
        corpora=(context.web_scope.corpus,),
        sources=page.sources,
    )


async def _is_known(context: ToolContext, url: str) -> bool:
    """Return whether a person allowed domains, or the question or a document that was seen contains exactly the URL.

    Otherwise a hostile text could make the model send what it knows to a server, inside a URL that it makes up. The
    query of a step, results of tools and answers of servers are no documents, since the model determines them.
    """
    if context.web_scope.domains or _contains(context.task.question, url):
        return True
    sources = tuple(dict.fromkeys(passage.source for passage in context.passages.values()))[:MAX_LOOKUP_DOCUMENTS]
    request = LookupRequest(term=url, kind="url", sources=sources, limit=1)
    reply = await context.clients.execute_activity(ToolActivities.find_term, request, summary=url)
    return reply.count > 0


def _contains(text: str, url: str) -> bool:
    try:
        return normalize_url(url) in extract_urls(text)
    except InvalidUrlError:
        return False


TOOL = Tool(
    name="read_page",
    description="Reads one web page whose URL is known, and finds passages in it.",
    arguments=ReadPageArguments,
    bounds="URLs that occur exactly in the question or in a document that was seen, and those of domains that "
    "`--domain` names; size, time and `robots.txt` as the settings of fetching say",
    use=read_page,
    requires="web",
)
