"""Owners behind the gate of a real Temporal server, with clients that send whatever they like."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from h2.connection import H2Connection
from h2.events import Event, ResponseReceived, SettingsAcknowledged
from temporalio import activity, workflow
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeNamespaceRequest,
    ListNamespacesRequest,
    PollActivityTaskQueueRequest,
    PollWorkflowTaskQueueRequest,
    ResetWorkflowExecutionRequest,
    RespondActivityTaskCompletedRequest,
)
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner

from tenure.ownership import derive_gate_key, hash_key
from tenure.temporal.gate.owner_relay import relay_requests
from tests.support.servers.temporal_server import SERVER_OPTIONS, run_temporal_server
from tests.support.tiers import slow
from tests.support.workers import PatientWorker
from tests.temporal.test_owner_payloads import TOKENS

NAMESPACES = {hash_key(derive_gate_key(token)): owner for owner, token in TOKENS.items()}
LARGE = "x" * 1_500_000
"""Text that needs more than one window of HTTP/2 in each direction."""


@workflow.defn
class Waiting:
    """Workflow that waits for a signal and returns what it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    @workflow.run
    async def run(self, text: str) -> str:
        await workflow.wait_condition(lambda: bool(self.texts))
        await workflow.execute_activity(echo, text, start_to_close_timeout=timedelta(minutes=1))
        return text

    @workflow.signal
    def go(self, text: str) -> None:
        self.texts.append(text)

    @workflow.update
    async def add(self, text: str) -> int:
        self.texts.append(text)
        return len(self.texts)

    @workflow.query
    def count(self) -> int:
        return len(self.texts)


@activity.defn
async def echo(text: str) -> str:
    """Return the text."""
    return text


class Gated:
    """Server with a gate, and clients on both sides of it."""

    def __init__(self, direct: Client, port: int) -> None:
        self.direct, self.port, self._address = direct, port, f"127.0.0.1:{port}"

    async def connect(self, owner: str, namespace: str = "", key: str | None = None) -> Client:
        """Return a client of an owner behind the gate, for the own namespace or another one."""
        chosen = derive_gate_key(TOKENS[owner]) if key is None else key
        metadata = {"authorization": f"Bearer {chosen}"} if chosen else {}
        return await Client.connect(self._address, namespace=namespace or owner, rpc_metadata=metadata)

    def behind(self, namespace: str) -> Client:
        """Return a client of the server itself."""
        return Client(self.direct.service_client, namespace=namespace)


@pytest.fixture(scope="module")
async def gated() -> AsyncIterator[Gated]:
    """A server with a namespace for each owner, and its gate."""
    options = [part for owner in TOKENS for part in ("--namespace", owner)]
    async with run_temporal_server([*SERVER_OPTIONS, *options]) as environment:
        host, _, port = environment.client.service_client.config.target_host.rpartition(":")
        loop, tasks = asyncio.get_running_loop(), set[asyncio.Task[None]]()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)

            async def accept() -> None:
                while True:
                    accepted, _ = await loop.sock_accept(listener)
                    accepted.setblocking(False)
                    tasks.add(asyncio.create_task(relay_requests(accepted, (host, int(port)), NAMESPACES)))

            accepting = asyncio.create_task(accept())
            yield Gated(environment.client, listener.getsockname()[1])
            for task in (accepting, *tasks):
                task.cancel()
            await asyncio.gather(accepting, *tasks, return_exceptions=True)


def serve(client: Client, queue: str) -> PatientWorker:
    """Return a worker of the workflow."""
    return PatientWorker(
        client,
        task_queue=queue,
        workflows=[Waiting],
        activities=[echo],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )


async def test_a_client_may_open_many_requests_at_once(gated: Gated) -> None:
    """The long polls of a worker that serves many queues leave room for its answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gated.port)
    http = H2Connection()
    http.initiate_connection()
    writer.write(http.data_to_send())
    events: list[Event] = []
    while not any(isinstance(event, SettingsAcknowledged) for event in events):
        events += http.receive_data(await reader.read(65_536))
    writer.close()

    assert http.remote_settings.max_concurrent_streams == 1_000


@pytest.mark.parametrize("authorization", [None, "Bearer unknown"])
async def test_a_request_without_a_key_is_refused_before_its_body(gated: Gated, authorization: str | None) -> None:
    """The gate keeps no body of a client that no owner has sent: it answers the headers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gated.port)
    http = H2Connection()
    http.initiate_connection()
    path = "/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution"
    headers = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "gate")]
    http.send_headers(1, headers if authorization is None else [*headers, ("authorization", authorization)])
    writer.write(http.data_to_send())
    answers: list[ResponseReceived] = []
    async with asyncio.timeout(90):
        while not answers:
            events = http.receive_data(await reader.read(65_536))
            answers += [event for event in events if isinstance(event, ResponseReceived)]
    http.send_data(1, bytes(10_000), end_stream=True)
    writer.write(http.data_to_send())
    http.send_headers(3, headers, end_stream=True)  # the connection continues
    writer.write(http.data_to_send())
    async with asyncio.timeout(90):
        while len(answers) < 2:
            events = http.receive_data(await reader.read(65_536))
            answers += [event for event in events if isinstance(event, ResponseReceived)]
    writer.close()

    assert [dict(answer.headers)[b"grpc-status"] for answer in answers] == [b"7", b"7"]


@slow
async def test_an_owner_does_everything_in_the_own_namespace(gated: Gated) -> None:
    """A worker and a client behind the gate run a workflow with large values, and reset, list and end workflows."""
    ann, queue = await gated.connect("ann"), f"own-{uuid4().hex[:8]}"
    async with serve(ann, queue):
        handle = await ann.start_workflow(Waiting.run, LARGE, id=queue, task_queue=queue)
        added = [await handle.execute_update(Waiting.add, "a"), await handle.query(Waiting.count)]
        result = await handle.result()
        request = ResetWorkflowExecutionRequest(
            namespace="ann",
            workflow_execution=WorkflowExecution(workflow_id=queue),
            workflow_task_finish_event_id=4,
            request_id=uuid4().hex,
        )
        again = (await ann.workflow_service.reset_workflow_execution(request)).run_id
        repeated = ann.get_workflow_handle(queue, run_id=again)
        await repeated.signal(Waiting.go, "again")
        ends = await asyncio.gather(*(run_briefly(ann, queue, number) for number in range(40)))
        stack = await repeated.query("__stack_trace")
        second = await repeated.result()
        history = await handle.fetch_history()

    assert added == [1, 1]
    assert result == second == LARGE
    assert len(ends) == 40 and set(ends) == {"small"}
    assert isinstance(stack, str)
    assert len(history.events) > 10


async def run_briefly(client: Client, queue: str, number: int) -> str:
    """Run a workflow next to others."""
    handle = await client.start_workflow(Waiting.run, "small", id=f"{queue}-{number}", task_queue=queue)
    await handle.signal(Waiting.go, "now")
    return await handle.result()


def list_attacks(client: Client, handle: WorkflowHandle[Any, Any], queue: str) -> dict[str, Callable[[], Any]]:
    """Return the requests that a client tries in its namespace."""
    service, namespace = client.workflow_service, client.namespace
    reset = ResetWorkflowExecutionRequest(
        namespace=namespace,
        workflow_execution=WorkflowExecution(workflow_id=handle.id),
        workflow_task_finish_event_id=4,
    )
    tasks = TaskQueue(name=queue)
    return {
        "start": lambda: client.start_workflow(Waiting.run, "x", id=f"{queue}-new", task_queue=queue),
        "read": handle.fetch_history,
        "describe": handle.describe,
        "list": client.count_workflows,
        "query": lambda: handle.query(Waiting.count),
        "signal": lambda: handle.signal(Waiting.go, "x"),
        "update": lambda: handle.execute_update(Waiting.add, "x"),
        "cancel": handle.cancel,
        "terminate": handle.terminate,
        "reset": lambda: service.reset_workflow_execution(reset),
        "poll workflows": lambda: service.poll_workflow_task_queue(
            PollWorkflowTaskQueueRequest(namespace=namespace, task_queue=tasks)
        ),
        "poll activities": lambda: service.poll_activity_task_queue(
            PollActivityTaskQueueRequest(namespace=namespace, task_queue=tasks)
        ),
        "schedules": lambda: client.get_schedule_handle("knowledge-base").delete(),
        "namespaces": lambda: service.list_namespaces(ListNamespacesRequest()),
        "namespace": lambda: service.describe_namespace(DescribeNamespaceRequest(namespace=namespace)),
    }


@pytest.mark.parametrize("key", [None, "", "x" * 64], ids=["of another owner", "none", "unknown"])
async def test_nobody_else_reaches_the_namespace_of_an_owner(gated: Gated, key: str | None) -> None:
    """With the key of another owner, without one and with an unknown one, nothing is started, read or changed."""
    queue = f"attacked-{uuid4().hex[:8]}"
    ann = gated.behind("ann")
    async with serve(ann, queue):
        run = await ann.start_workflow(Waiting.run, "secret", id=queue, task_queue=queue)
        before = await run.query(Waiting.count)
        if key is None:
            thief = await gated.connect("bob", "ann")
            attacks = list_attacks(thief, thief.get_workflow_handle(queue), queue)
            refusals = {name: await refuse(attack) for name, attack in attacks.items()}
        else:
            # Such a client is refused when it asks for the namespace or, as here, before anything else.
            with pytest.raises(RuntimeError, match="TENURE_OWNER_TOKEN"):
                thief = await gated.connect("bob", "ann", key)
                await thief.count_workflows()
            refusals = {}
        after = await run.query(Waiting.count)
        events = len((await run.fetch_history()).events)
        await run.signal(Waiting.go, "on")
        await run.result()

    assert set(refusals.values()) <= {RPCStatusCode.PERMISSION_DENIED}, refusals
    assert (before, after) == (0, 0)
    assert events == 4


async def refuse(attack: Callable[[], Any]) -> object:
    """Return the status with which an attack is refused, or what it achieves."""
    try:
        async with asyncio.timeout(90):
            return await attack()
    except RPCError as error:
        return error.status


async def test_a_task_of_another_namespace_cannot_be_completed(gated: Gated) -> None:
    """The token of a task is bound to its namespace, whatever namespace the request names."""
    queue, ann = f"token-{uuid4().hex[:8]}", gated.behind("ann")
    handle = await ann.start_activity(
        echo, "secret", id=queue, task_queue=queue, start_to_close_timeout=timedelta(minutes=1)
    )
    task = await ann.workflow_service.poll_activity_task_queue(
        PollActivityTaskQueueRequest(namespace="ann", task_queue=TaskQueue(name=queue))
    )
    bob = await gated.connect("bob")
    statuses = [
        await refuse(
            lambda namespace=namespace: bob.workflow_service.respond_activity_task_completed(  # type: ignore[misc]
                RespondActivityTaskCompletedRequest(namespace=namespace, task_token=task.task_token)
            )
        )
        for namespace in ("bob", "ann", "")
    ]
    with suppress(RPCError):
        await handle.terminate()

    assert task.task_token
    assert statuses[0] in (RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.NOT_FOUND)
    assert statuses[1:] == [RPCStatusCode.PERMISSION_DENIED] * 2


async def test_a_cancelled_request_ends_at_the_server(gated: Gated) -> None:
    """A client that no longer waits for a task takes none: its poll is broken off behind the gate, too."""
    queue, ann = f"cancelled-{uuid4().hex[:8]}", await gated.connect("ann")
    polls = PollActivityTaskQueueRequest(namespace="ann", task_queue=TaskQueue(name=queue))
    for _ in range(5):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await ann.workflow_service.poll_activity_task_queue(polls)
    await ann.start_activity(echo, "x", id=queue, task_queue=queue, start_to_close_timeout=timedelta(minutes=1))
    task = await ann.workflow_service.poll_activity_task_queue(polls)

    assert task.activity_id == queue
