"""The tool `mcp`: call a tool of a server of the Model Context Protocol."""

from pydantic import Field, JsonValue

from tenure.contracts.research.tools import McpCallRequest, Observation, ToolArguments
from workflows.research.tool import Tool
from workflows.research.tool_context import FOREIGN_RELIABILITY, SUSPICIOUS_RELIABILITY, ToolContext


class McpArguments(ToolArguments):
    """Arguments of `mcp`."""

    server: str = Field(min_length=1, max_length=100)
    """Name of the server."""
    tool: str = Field(min_length=1, max_length=200)
    """Name of its tool."""
    arguments: dict[str, JsonValue] = {}
    """Arguments of the tool, as its schema says."""


async def call_server_tool(context: ToolContext, arguments: McpArguments) -> Observation:
    """Call a tool that a server of the run offers."""
    offered = {(tool.server, tool.name) for tool in context.mcp_tools}
    if (arguments.server, arguments.tool) not in offered:
        names = ", ".join(f"{name} of {server}" for server, name in sorted(offered))
        return Observation(problem=f"there is no such tool; there are {names}")
    request = McpCallRequest(
        server=arguments.server,
        tool=arguments.tool,
        arguments=arguments.arguments,
        question=context.task.step.query,
        corpus=context.corpus,
    )
    reply = await context.clients.mcp.call_tool(request)
    if reply.problem:
        return Observation(problem=reply.problem)
    reliability = SUSPICIOUS_RELIABILITY if reply.contains_instructions else FOREIGN_RELIABILITY
    return await context.observe_passages(reply.passages, context.task.step.query, reliability)


TOOL = Tool(
    name="mcp",
    description="Calls a tool of a server of the Model Context Protocol.",
    arguments=McpArguments,
    bounds="servers as `--mcp` names them, tools as `TENURE_MCP_SERVERS` allows them; `TENURE_MCP_SECONDS`; "
    "100,000 characters of an answer; never retried automatically",
    use=call_server_tool,
    requires="mcp",
)
