"""List and call tools of servers of the Model Context Protocol and read their resources; both become sources.

Descriptions and answers of servers are hostile text. Like web requests, these calls wait for foreign servers.
"""

import asyncio
import json
from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translate_errors
from activities.heartbeat import send_heartbeats
from tenure.algorithms.retrieval.page_quality import assess_page
from tenure.contracts.research.tools import (
    MAX_MCP_RESOURCES,
    MAX_MCP_TOOLS,
    McpCallReply,
    McpCallRequest,
    McpResource,
    McpResourceRequest,
    McpStoreRequest,
    McpTextReply,
    McpTool,
    McpToolsReply,
    StoredResult,
)
from tenure.sources.document.document import Document
from tenure.sources.mcp.servers import McpError, McpServers, McpToolDescription

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase

MAX_DESCRIPTION_LENGTH = 500
"""Characters of a tool's description."""
MAX_SCHEMA_LENGTH = 3_000
"""Characters of a tool's schema in JSON."""


class McpActivities:
    """Activities on the MCP servers of the settings."""

    def __init__(self, servers: McpServers, knowledge: "KnowledgeBase") -> None:
        """Call tools of `servers` and store their answers in `knowledge`."""
        self._servers, self._knowledge = servers, knowledge

    @activity.defn
    async def list_mcp_tools(self, servers: tuple[str, ...]) -> McpToolsReply:
        """Return the tools and resources of servers; the reply names servers that do not answer."""
        tools: list[McpTool] = []
        resources: list[McpResource] = []
        problems: list[str] = []
        async with send_heartbeats():
            for server in servers:
                try:
                    tools += [_describe_tool(server, tool) for tool in await self._servers.list_tools(server)]
                    for link in await self._servers.list_resources(server):
                        description = link.description[:MAX_DESCRIPTION_LENGTH]
                        resources.append(
                            McpResource(server=server, uri=link.uri, title=link.title, description=description)
                        )
                except McpError as error:
                    problems.append(str(error))
        return McpToolsReply(
            tools=tuple(tools[:MAX_MCP_TOOLS]), resources=tuple(resources[:MAX_MCP_RESOURCES]), problems=tuple(problems)
        )

    @activity.defn
    async def call_mcp_tool(self, request: McpCallRequest) -> McpTextReply:
        """Call a tool with arguments that its schema accepts; this is never retried, unlike the storing."""
        async with send_heartbeats():
            try:
                answer = await self._servers.call_tool(request.server, request.tool, request.arguments, validate=True)
            except McpError as error:
                return McpTextReply(problem=str(error))
        return McpTextReply(text=answer.text)

    @activity.defn
    async def store_mcp_answer(self, request: McpStoreRequest) -> McpCallReply:
        """Store the answer of a tool so that it can be cited."""
        # Imported when needed: the tables of an answer load DuckDB, and the worker should serve first.
        from tenure.sources.parsers.tool_text import build_tool_document

        title = f"Answer of {request.tool} ({request.server})"
        document = build_tool_document(title, request.text, request.arguments)
        if not document.text:
            return McpCallReply(problem=f"{request.tool} answered without any words")
        uri = f"mcp:{request.server}/{request.tool}?{json.dumps(request.arguments, sort_keys=True, ensure_ascii=False)}"
        async with send_heartbeats():
            return await self._store(request, uri, title, document)

    @activity.defn
    async def read_mcp_resource(self, request: McpResourceRequest) -> McpCallReply:
        """Read a resource and store its text so that it can be cited; return its passages on the question."""
        async with send_heartbeats():
            try:
                texts = await self._servers.read_resource(request.server, request.uri)
            except McpError as error:
                return McpCallReply(problem=str(error))
            from tenure.sources.parsers.tool_text import build_resource_document

            title = request.title or request.uri
            document = build_resource_document(title, texts)
            if not document.text:
                return McpCallReply(problem=f"the resource {request.uri} of {request.server} has no text")
            uri = f"mcp:{request.server}/{request.uri}"
            return await self._store(request, uri, title, document, most_relevant=True)

    async def _store(
        self, request: StoredResult, uri: str, title: str, document: Document, *, most_relevant: bool = False
    ) -> McpCallReply:
        """Store foreign text; its passages are ranked by their similarity to the question, like search results."""
        store = self._knowledge.results.store_result
        with translate_errors():
            passages = await asyncio.to_thread(
                store, request.corpus, uri, document, request.question, most_relevant=most_relevant
            )
        ranked = (passage.model_copy(update={"dense_rank": rank}) for rank, passage in enumerate(passages, 1))
        flaws = assess_page(title, document.text).flaws
        return McpCallReply(passages=tuple(ranked), contains_instructions="instructions" in flaws)


def _describe_tool(server: str, tool: McpToolDescription) -> McpTool:
    """Return a tool as it is offered to a model; a schema that is too long is omitted but still enforced."""
    short = len(json.dumps(tool.parameters)) <= MAX_SCHEMA_LENGTH
    parameters = dict(tool.parameters) if short else {}
    return McpTool(
        server=server,
        name=tool.name,
        description=tool.description[:MAX_DESCRIPTION_LENGTH],
        parameters=parameters,
    )
