"""The tool `read_resource`: read a resource of a server of the Model Context Protocol."""

from pydantic import Field

from tenure.contracts.research.tools import McpResourceRequest, Observation, ToolArguments
from workflows.research.tool import Tool
from workflows.research.tool_context import FOREIGN_RELIABILITY, SUSPICIOUS_RELIABILITY, ToolContext


class ReadResourceArguments(ToolArguments):
    """Arguments of `read_resource`."""

    server: str = Field(min_length=1, max_length=100)
    """Name of the server."""
    uri: str = Field(min_length=1, max_length=2_000)
    """URI of the resource, as the server lists it."""


async def read_resource(context: ToolContext, arguments: ReadResourceArguments) -> Observation:
    """Read a resource that a server of the run lists, and return its passages on the task."""
    listed = {(entry.server, entry.uri): entry for entry in context.mcp_resources}
    resource = listed.get((arguments.server, arguments.uri))
    if resource is None:
        names = ", ".join(f"{uri} of {server}" for server, uri in sorted(listed)[:20])
        return Observation(problem=f"there is no such resource; there are {names}")
    request = McpResourceRequest(
        server=resource.server,
        uri=resource.uri,
        title=resource.title,
        question=context.task.step.query,
        corpus=context.corpus,
    )
    reply = await context.clients.mcp.read_resource(request)
    if reply.problem:
        return Observation(problem=reply.problem)
    reliability = SUSPICIOUS_RELIABILITY if reply.contains_instructions else FOREIGN_RELIABILITY
    minimum = context.task.limits.min_relevance
    passages = [passage for passage in reply.passages if passage.relevance >= minimum]
    return await context.observe_passages(passages, context.task.step.query, reliability)


TOOL = Tool(
    name="read_resource",
    description="Reads a resource of a server of the Model Context Protocol and finds its passages on the task.",
    arguments=ReadResourceArguments,
    bounds="servers as `--mcp` names them, resources as `TENURE_MCP_SERVERS` allows them; `TENURE_MCP_SECONDS`; text "
    "only, 100,000 characters of it; the 6 passages nearest to the task",
    use=read_resource,
    requires="mcp_resources",
)
