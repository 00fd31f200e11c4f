"""List and call tools of the MCP servers that a run may use, and read their resources."""

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity
from workflows.runtime.call_record import ActivityClient

with workflow.unsafe.imports_passed_through():
    from activities.mcp import McpActivities
    from tenure.contracts.research.tools import (
        McpCallReply,
        McpCallRequest,
        McpResourceRequest,
        McpStoreRequest,
        McpToolsReply,
    )


class McpClient(ActivityClient):
    """Client for servers of the Model Context Protocol, which the limits of the run name."""

    async def list_tools(self) -> McpToolsReply:
        """Return the tools and resources of all servers of the run."""
        if not self._limits.mcp:
            return McpToolsReply()
        await self._workflow.wait_while_paused()
        return await execute_activity(McpActivities.list_mcp_tools, self._limits.mcp, summary="what the servers offer")

    async def call_tool(self, request: McpCallRequest) -> McpCallReply:
        """Call a tool at most once, since its side effects are unknown, and store its answer."""
        if request.server not in self._limits.mcp:
            return McpCallReply(problem=f"this run may not use the server {request.server!r}")
        await self._workflow.wait_while_paused()
        summary = f"{request.server}: {request.tool}"
        with self._progress.track_long_step():
            answer = await execute_activity(McpActivities.call_mcp_tool, request, summary=summary)
        if answer.problem:
            return McpCallReply(problem=answer.problem)
        stored = McpStoreRequest(**dict(request), text=answer.text)
        return await execute_activity(McpActivities.store_mcp_answer, stored, summary=f"the answer of {summary}")

    async def read_resource(self, request: McpResourceRequest) -> McpCallReply:
        """Read a resource of a server of the run."""
        if request.server not in self._limits.mcp:
            return McpCallReply(problem=f"this run may not use the server {request.server!r}")
        await self._workflow.wait_while_paused()
        summary = f"{request.server}: {request.uri}"
        with self._progress.track_long_step():
            return await execute_activity(McpActivities.read_mcp_resource, request, summary=summary)
