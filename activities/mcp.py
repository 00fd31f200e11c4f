"""Activities on servers of the Model Context Protocol: what they offer, and calls whose answers are kept as sources.

They wait for other programs, like the web. What a server says about its tools, and what these answer, is hostile text.
"""

import asyncio
import json
from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translated
from activities.heartbeat import heartbeating
from tenure.algorithms.retrieval.page_quality import judge
from tenure.contracts.research.tools import (
    MOST_MCP_TOOLS,
    McpCallReply,
    McpCallRequest,
    McpTool,
    McpToolsReply,
    McpToolsRequest,
)
from tenure.sources.mcp.servers import Answer, McpError, McpServers, Tool
from tenure.sources.parsers.tool_text import answer_document

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase

LONGEST_WORDS = 500
"""Characters of a tool's description that are shown."""
LONGEST_SCHEMA = 3_000
"""Characters of a schema that is shown, written as JSON."""


class McpActivities:
    """The servers that the settings name, as one worker reaches them."""

    def __init__(self, servers: McpServers, knowledge: "KnowledgeBase") -> None:
        """Call tools of `servers`, and keep their answers in `knowledge`."""
        self._servers, self._knowledge = servers, knowledge

    @activity.defn
    async def list_mcp_tools(self, request: McpToolsRequest) -> McpToolsReply:
        """Ask servers for their tools; that one does not answer is told and hinders no other."""
        tools: list[McpTool] = []
        problems: list[str] = []
        async with heartbeating():
            for server in request.servers:
                try:
                    tools += [_shown(server, tool) for tool in await self._servers.tools(server)]
                except McpError as error:
                    problems.append(str(error))
        return McpToolsReply(tools=tuple(tools[:MOST_MCP_TOOLS]), problems=tuple(problems))

    @activity.defn
    async def call_mcp_tool(self, request: McpCallRequest) -> McpCallReply:
        """Call a tool with arguments that its schema takes, and keep its answer so that it can be cited."""
        call = request.call
        async with heartbeating():
            try:
                answer = await self._servers.call(call.server, call.tool, call.arguments, check=True)
            except McpError as error:
                return McpCallReply(problem=str(error))
            return await self._kept(request, answer)

    async def _kept(self, request: McpCallRequest, answer: Answer) -> McpCallReply:
        call = request.call
        title = f"Answer of {call.tool} ({call.server})"
        document = answer_document(title, answer.texts, answer.structured)
        if not document.text:
            return McpCallReply(problem=f"{call.tool} answered without any words")
        uri = f"mcp:{call.server}/{call.tool}?{json.dumps(call.arguments, sort_keys=True, ensure_ascii=False)}"
        with translated():
            passages = await asyncio.to_thread(
                self._knowledge.keep_result, request.corpus, uri, document, request.question
            )
        # Text of others is evidence as far as it is near the question, like what a search has found.
        ranked = (one.model_copy(update={"dense_rank": rank}) for rank, one in enumerate(passages, 1))
        return McpCallReply(passages=tuple(ranked), orders="instructions" in judge(title, document.text).flaws)


def _shown(server: str, tool: Tool) -> McpTool:
    """Return a tool as it is offered; a schema that is too long is left out, and checked all the same."""
    short = len(json.dumps(tool.parameters)) <= LONGEST_SCHEMA
    parameters = dict(tool.parameters) if short else {}
    return McpTool(server=server, name=tool.name, description=tool.description[:LONGEST_WORDS], parameters=parameters)
