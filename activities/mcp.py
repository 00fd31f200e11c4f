"""List and call tools of servers of the Model Context Protocol; answers are stored as sources.

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
    MAX_MCP_TOOLS,
    McpCallReply,
    McpCallRequest,
    McpTool,
    McpToolsReply,
    McpToolsRequest,
)
from tenure.sources.mcp.servers import McpError, McpServers, McpToolDescription, ToolResult
from tenure.sources.parsers.tool_text import build_tool_document

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
    async def list_mcp_tools(self, request: McpToolsRequest) -> McpToolsReply:
        """Return the tools of servers; the reply names servers that do not answer."""
        tools: list[McpTool] = []
        problems: list[str] = []
        async with send_heartbeats():
            for server in request.servers:
                try:
                    tools += [_describe_tool(server, tool) for tool in await self._servers.list_tools(server)]
                except McpError as error:
                    problems.append(str(error))
        return McpToolsReply(tools=tuple(tools[:MAX_MCP_TOOLS]), problems=tuple(problems))

    @activity.defn
    async def call_mcp_tool(self, request: McpCallRequest) -> McpCallReply:
        """Call a tool with arguments that its schema accepts, and store its answer so that it can be cited."""
        async with send_heartbeats():
            try:
                answer = await self._servers.call_tool(request.server, request.tool, request.arguments, validate=True)
            except McpError as error:
                return McpCallReply(problem=str(error))
            return await self._store_answer(request, answer)

    async def _store_answer(self, request: McpCallRequest, answer: ToolResult) -> McpCallReply:
        title = f"Answer of {request.tool} ({request.server})"
        document = build_tool_document(title, answer.texts, answer.structured)
        if not document.text:
            return McpCallReply(problem=f"{request.tool} answered without any words")
        uri = f"mcp:{request.server}/{request.tool}?{json.dumps(request.arguments, sort_keys=True, ensure_ascii=False)}"
        with translate_errors():
            passages = await asyncio.to_thread(
                self._knowledge.results.store_result, request.corpus, uri, document, request.question
            )
        # Foreign text is ranked by its similarity to the question, like search results.
        ranked = (one.model_copy(update={"dense_rank": rank}) for rank, one in enumerate(passages, 1))
        return McpCallReply(
            passages=tuple(ranked), contains_instructions="instructions" in assess_page(title, document.text).flaws
        )


def _describe_tool(server: str, tool: McpToolDescription) -> McpTool:
    """Return a tool as it is offered to a model; a schema that is too long is omitted but still enforced."""
    short = len(json.dumps(tool.parameters)) <= MAX_SCHEMA_LENGTH
    parameters = dict(tool.parameters) if short else {}
    return McpTool(
        server=server, name=tool.name, description=tool.description[:MAX_DESCRIPTION_LENGTH], parameters=parameters
    )
