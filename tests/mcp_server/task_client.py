"""Client of the extension for tasks, on the seam that the official SDK has for extensions of clients."""

from collections.abc import Sequence
from typing import Any, Literal

from mcp import Client
from mcp.client import ClientExtension, ClientSession
from mcp.client.context import ClientRequestContext
from mcp.client.extension import ClaimContext, ResultClaim
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ErrorData,
    InputRequests,
    InputResponses,
    Request,
    Result,
)

from tenure.mcp_server.tasks import EXTENSION, TaskParams, UpdateTaskParams
from tests.support.waiting import wait_until

POLL_SECONDS = 0.2


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    """Request for the state of a task."""

    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param = "taskId"


class CancelTask(Request[TaskParams, Literal["tasks/cancel"]]):
    """Request to end a task."""

    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: TaskParams
    name_param = "taskId"


class UpdateTask(Request[UpdateTaskParams, Literal["tasks/update"]]):
    """Replies to the input requests of a task."""

    method: Literal["tasks/update"] = "tasks/update"
    params: UpdateTaskParams
    name_param = "taskId"


class TaskFields(Result):
    """Fields of a task."""

    task_id: str
    status: Literal["working", "input_required", "completed", "failed", "cancelled"]
    status_message: str = ""
    created_at: str
    last_updated_at: str
    ttl_ms: int | None
    """Required by the schema; null for an unlimited lifetime."""
    poll_interval_ms: int | None = None


class CreatedTask(TaskFields):
    """Result of a call in place of its own."""

    result_type: Literal["task"] = "task"


class TaskDetails(TaskFields):
    """Result of `tasks/get`."""

    result_type: Literal["complete"] = "complete"
    input_requests: InputRequests | None = None
    result: CallToolResult | None = None


class Acknowledged(Result):
    """Result of `tasks/update` and `tasks/cancel`."""

    result_type: Literal["complete"]


class Tasks(ClientExtension):
    """Finishes calls that a server answers with a task."""

    identifier = EXTENSION

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=CreatedTask, resolve=self._finish),)

    async def _finish(self, created: CreatedTask, context: ClaimContext) -> CallToolResult:
        task = await wait_for_task(context.session, created.task_id)
        assert task.result is not None
        return task.result


async def call_as_task(client: Client, name: str, arguments: dict[str, Any]) -> CreatedTask:
    """Call a tool and return its task."""
    created = await client.session.call_tool(name, arguments, allow_claimed=True)
    assert isinstance(created, CreatedTask), created
    return created


async def get_task(session: ClientSession, task_id: str) -> TaskDetails:
    """Return the state of a task."""
    return await session.send_request(GetTask(params=TaskParams(task_id=task_id)), TaskDetails)


async def update_task(session: ClientSession, task_id: str, responses: InputResponses) -> Acknowledged:
    """Send replies to a task."""
    params = UpdateTaskParams(task_id=task_id, input_responses=responses)
    return await session.send_request(UpdateTask(params=params), Acknowledged)


async def cancel_task(session: ClientSession, task_id: str) -> Acknowledged:
    """Ask for the end of a task."""
    return await session.send_request(CancelTask(params=TaskParams(task_id=task_id)), Acknowledged)


async def wait_for_status(session: ClientSession, task_id: str, *statuses: str) -> TaskDetails:
    """Return the state of a task as soon as it has one of the statuses."""
    return await wait_until(
        " or ".join(statuses), lambda: get_task(session, task_id), lambda task: task.status in statuses
    )


async def wait_for_task(session: ClientSession, task_id: str) -> TaskDetails:
    """Return a task at its end; input requests are answered by the callback of the client."""
    answered: set[str] = set()

    async def answer_requests() -> TaskDetails:
        task = await get_task(session, task_id)
        for key, request in (task.input_requests or {}).items():
            if key not in answered and isinstance(request, ElicitRequest):
                answered.add(key)
                context = ClientRequestContext(session=session, request_id=key, meta=None)
                response = await session.dispatch_input_request(context, request)
                assert not isinstance(response, ErrorData)
                await update_task(session, task_id, {key: response})
        return task

    return await wait_until(
        "the end of the task", answer_requests, lambda task: task.status not in ("working", "input_required")
    )
