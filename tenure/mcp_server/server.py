"""Server of the Model Context Protocol: tools, prompts, resources and tasks over the operations of `tenure.runs`."""

import itertools
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)
from starlette.types import ASGIApp

import tenure
from tenure.installation import PROGRAM
from tenure.mcp_server.home import LazyHome, McpContext, convert_errors
from tenure.mcp_server.prompts import fill_prompt, list_prompts
from tenure.mcp_server.replies import build_error
from tenure.mcp_server.resources import list_resources, list_templates, read_resource
from tenure.mcp_server.subscriptions import Subscriptions, open_subscriptions
from tenure.mcp_server.tasks import TaskState, create_task, register_tasks, supports_tasks
from tenure.mcp_server.tools import TOOLS, build_request
from tenure.runs.errors import TenureError
from tenure.runs.messages import validate_request
from tenure.site.server import HEADERS
from tenure.temporal.gate.access import AccessGate, AccessPolicy
from tenure.temporal.gate.access_key import load_key

PATH = "/mcp"
"""Path of the server over HTTP."""

MAX_BODY_BYTES = 1_000_000
"""Maximum size of a request."""

HINT = f"Programs send the key of the home as bearer token, which `{PROGRAM} mcp --http` explains."

INSTRUCTIONS = (
    "Tenure answers questions from documents and the web with reports in which every sentence names its source, and "
    "writes tested programs. Runs are durable: they continue without the client, and the id of a run returns its "
    "state and its report at any time. A run may wait for a person; pass its question on, and the reply back."
)


def build_server(home: LazyHome, *, has_connections: bool = True) -> Server[Subscriptions]:
    """Return the server of a home; with connections, it notifies clients of earlier protocols of changes."""

    def open_lifespan(_: Server[Subscriptions]) -> AbstractAsyncContextManager[Subscriptions]:
        return open_subscriptions(home)

    async def handle_list_tools(context: McpContext, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool.describe() for tool in TOOLS.values()])

    async def handle_call(context: McpContext, params: CallToolRequestParams) -> CallToolResult | TaskState:
        return await _call(home, context, params)

    async def handle_list_prompts(context: McpContext, params: PaginatedRequestParams | None) -> ListPromptsResult:
        return list_prompts()

    async def handle_prompt(context: McpContext, params: GetPromptRequestParams) -> GetPromptResult:
        return fill_prompt(params.name, params.arguments or {})

    async def handle_list(context: McpContext, params: PaginatedRequestParams | None) -> ListResourcesResult:
        with convert_errors():
            return await list_resources(await home.open())

    async def handle_templates(context: McpContext, _: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return list_templates()

    async def handle_read(context: McpContext, params: ReadResourceRequestParams) -> ReadResourceResult:
        with convert_errors():
            return await read_resource(await home.open(), params.uri)

    async def handle_listen(context: McpContext, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        subscriptions: Subscriptions = context.lifespan_context
        return await subscriptions.listen(context, params)

    async def handle_subscribe(context: McpContext, params: SubscribeRequestParams) -> EmptyResult:
        await context.lifespan_context.add_resource(context.session, params.uri)
        return EmptyResult()

    async def handle_unsubscribe(context: McpContext, params: UnsubscribeRequestParams) -> EmptyResult:
        context.lifespan_context.remove_resource(params.uri)
        return EmptyResult()

    server: Server[Subscriptions] = Server(
        "tenure",
        version=tenure.__version__,
        title="Tenure",
        instructions=INSTRUCTIONS,
        on_list_tools=handle_list_tools,
        on_list_prompts=handle_list_prompts,
        on_get_prompt=handle_prompt,
        on_list_resources=handle_list,
        on_list_resource_templates=handle_templates,
        on_read_resource=handle_read,
        on_subscriptions_listen=handle_listen,
        on_subscribe_resource=handle_subscribe if has_connections else None,
        on_unsubscribe_resource=handle_unsubscribe if has_connections else None,
        lifespan=open_lifespan,
    )
    server.add_request_handler("tools/call", CallToolRequestParams, handle_call)
    register_tasks(server, home)
    return server


async def _call(home: LazyHome, context: McpContext, params: CallToolRequestParams) -> CallToolResult | TaskState:
    """Return the result of a call, or the task that it has started."""
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(code=INVALID_PARAMS, message=f"there is no tool {params.name[:100]!r}: {', '.join(TOOLS)}")
    steps = itertools.count(1)

    async def report(line: str) -> None:
        await context.session.report_progress(next(steps), message=line)

    try:
        arguments: Any = validate_request(tool.arguments, params.arguments or {})
        service = await home.open()
        if tool.mode is not None and supports_tasks(context):
            return await create_task(service, build_request(tool.mode, arguments), is_new=arguments.new)
        return await tool.handler(service, arguments, report)
    except TenureError as error:  # a refusal is a result that the model can read
        return build_error(str(error))


async def serve_stdio(home: LazyHome) -> None:
    """Serve one client on standard input and output until it leaves."""
    server = build_server(home)
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


@asynccontextmanager
async def open_http_app(home: LazyHome, port: int) -> AsyncIterator[ASGIApp]:
    """Yield the application for Streamable HTTP, which the owner of the home may use.

    Raises:
        OSError: the key of the home cannot be read.
    """
    policy = AccessPolicy(load_key(home.settings.home), port, hint=HINT)
    async with open_endpoint(home) as endpoint:
        yield AccessGate(endpoint, policy, HEADERS)


@asynccontextmanager
async def open_endpoint(home: LazyHome) -> AsyncIterator[ASGIApp]:
    """Yield the application for Streamable HTTP without access control.

    Every request stands alone, so a client needs no session that would end with this process.
    """
    server = build_server(home, has_connections=False)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=MAX_BODY_BYTES,
        # The gate compares host and origin of every request.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    async with server.session_manager.run():
        yield app
