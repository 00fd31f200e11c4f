"""Runs as tasks of the extension `io.modelcontextprotocol/tasks` (SEP-2663), for clients that declare it.

The id of a task is the id of its run. The state of a task is read from Temporal at each request, so this server keeps
nothing: another process answers for the same task. Notifications of the extension are not offered, since the SDK has
no subscription to tasks; clients poll.
"""

from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.mcpserver import require_client_extension
from mcp.shared.exceptions import MCPError
from mcp.types import (
    METHOD_NOT_FOUND,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputResponses,
    RequestParams,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from tenure.contracts.run.control import InputRequest, OutlineTopic, RunCommand
from tenure.mcp_server.home import LazyHome, McpContext, convert_errors
from tenure.mcp_server.repeats import start_or_join
from tenure.mcp_server.replies import build_run_result, describe_request
from tenure.runs.messages import RunDetails, StartRequest
from tenure.runs.service import Service
from tenure.runs.session.progress_lines import describe_state

EXTENSION = "io.modelcontextprotocol/tasks"
"""Identifier of the extension."""

POLL_MILLISECONDS = 2_000
"""Suggested pause between two requests for the state of a task."""

TaskState = dict[str, Any]
"""A task as JSON. A model of the SDK would leave out the lifetime, whose null means unlimited."""


class TaskParams(RequestParams):
    """Parameters of `tasks/get` and `tasks/cancel`."""

    task_id: str


class UpdateTaskParams(TaskParams):
    """Parameters of `tasks/update`."""

    input_responses: InputResponses
    """Replies by the keys of the input requests."""


def supports_tasks(context: McpContext) -> bool:
    """Return whether a client takes a task in place of a result."""
    capabilities = context.session.client_capabilities
    declared = capabilities.extensions if capabilities else None
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS and EXTENSION in (declared or {})


def _shows_forms(context: McpContext) -> bool:
    """Return whether a client declares that it shows forms to a person."""
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


async def create_task(service: Service, request: StartRequest, *, is_new: bool) -> TaskState:
    """Start or join a run and return it as a task.

    Raises:
        TenureError: the run cannot be started.
    """
    started = await start_or_join(service, request, is_new=is_new)
    details = await service.describe(started.id)
    return {"resultType": "task", **_build_task(details)}


def register_tasks(server: Server[Any], home: LazyHome) -> None:
    """Add the methods of the extension to a server and advertise it."""

    async def get(context: McpContext, params: TaskParams) -> TaskState:
        _check_client(context)
        with convert_errors():
            service = await home.open()
            details = await service.describe(params.task_id)
            return await describe_task(service, details, elicits=_shows_forms(context))

    async def update(context: McpContext, params: UpdateTaskParams) -> TaskState:
        _check_client(context)
        with convert_errors():
            service = await home.open()
            details = await service.describe(params.task_id)
            for command in build_commands(details, params.input_responses):
                await service.steer(details.id, command)
        return {}

    async def cancel(context: McpContext, params: TaskParams) -> TaskState:
        _check_client(context)
        with convert_errors():
            service = await home.open()
            details = await service.describe(params.task_id)
            if details.is_running:
                await service.steer(details.id, RunCommand(name="finish"))
        return {}

    server.add_request_handler("tasks/get", TaskParams, get)
    server.add_request_handler("tasks/update", UpdateTaskParams, update)
    server.add_request_handler("tasks/cancel", TaskParams, cancel)
    server.extensions[EXTENSION] = {}


async def describe_task(service: Service, details: RunDetails, *, elicits: bool) -> TaskState:
    """Return the state of a task, with its input requests or its result.

    Only a client that `elicits` can show a form to a person; other clients reply by the tool `steer`.
    """
    task = _build_task(details)
    if task["status"] == "input_required" and not elicits:
        assert details.progress is not None, "the status says so"
        request = describe_request(details.progress)
        return task | {"status": "working", "statusMessage": f"waits for a person: {request}"}
    if task["status"] == "input_required":
        task["inputRequests"] = _build_input_requests(details)
    elif task["status"] == "completed":
        result: CallToolResult = await build_run_result(service, details)
        task["result"] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return task


def build_commands(details: RunDetails, responses: InputResponses) -> list[RunCommand]:
    """Return the commands that replies to the open input request of a run mean; none for other keys.

    A declined question is answered by the assumption of the run, and a declined plan stops the run.
    """
    request = details.progress.input_request if details.is_running and details.progress else None
    response = responses.get(_make_key(request)) if request else None
    if request is None or not isinstance(response, ElicitResult) or response.action == "cancel":
        return []
    content = response.content or {}
    if request.kind == "clarification":
        answer = str(content.get("answer") or "") if response.action == "accept" else ""
        return [RunCommand(name="answer", text=answer.strip() or request.assumption)]
    if response.action == "decline":
        return [RunCommand(name="cancel")]
    lines = [line.strip() for line in str(content.get("outline") or "").splitlines()]
    topics = tuple(OutlineTopic.model_validate(line) for line in lines if line)
    return [*([RunCommand(name="outline", outline=topics)] if topics else []), RunCommand(name="approve")]


def _build_task(details: RunDetails) -> TaskState:
    task: TaskState = {
        "taskId": details.id,
        "status": _find_status(details),
        "statusMessage": describe_state(details),
        "createdAt": details.started,
        "lastUpdatedAt": details.ended or details.seen,
        "ttlMs": None,
    }
    return task | ({"pollIntervalMs": POLL_MILLISECONDS} if details.is_running else {})


def _find_status(details: RunDetails) -> str:
    if details.is_running:
        waits = details.progress is not None and details.progress.input_request is not None
        return "input_required" if waits else "working"
    # A run that failed is the result of a tool; the status `failed` is for errors of the protocol.
    return "cancelled" if details.status == "cancelled" else "completed"


def _build_input_requests(details: RunDetails) -> dict[str, Any]:
    progress = details.progress
    assert progress is not None and progress.input_request is not None, "the status says so"
    request = progress.input_request
    properties: dict[str, Any] = (
        {"outline": {"type": "string", "title": "Outline", "description": "Topics, one per line; empty to keep them"}}
        if request.kind == "plan"
        else {"answer": {"type": "string", "title": "Answer"}}
    )
    schema = {"type": "object", "properties": properties}
    if request.kind == "clarification":
        schema["required"] = ["answer"]
    form = ElicitRequest(params=ElicitRequestFormParams(message=describe_request(progress), requested_schema=schema))
    return {_make_key(request): form.model_dump(by_alias=True, mode="json", exclude_none=True)}


def _make_key(request: InputRequest) -> str:
    """Return the key of an input request, which is unique within its run."""
    return f"{request.reporter}:{request.kind}:{request.number}"


def _check_client(context: McpContext) -> None:
    """Check that a client may use the methods of tasks."""
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=context.method)
    require_client_extension(context, EXTENSION)
