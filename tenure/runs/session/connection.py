"""Connect commands to the server, register search attributes and explain the server's refusals."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar
from uuid import uuid4

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowQueryFailedError
from temporalio.common import Priority
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from tenure.installation import PROGRAM
from tenure.runs.errors import MissingRun, TenureError, Unreachable
from tenure.runs.formatting import describe_failure, truncate_bytes, truncate_line
from tenure.runs.session.server_target import ServerTarget, suggest_remedy
from tenure.settings import ClientSettings
from tenure.temporal import connection
from tenure.temporal.encryption import DecryptionError
from tenure.temporal.histories import UnknownHistory
from workflows.runtime.search_attributes import ALL
from workflows.runtime.task_queues import TENURE_QUEUE

T = TypeVar("T")

AGENT_WORKFLOW = "AgentWorkflow"
BATCH_WORKFLOW = "BatchWorkflow"
INGEST_WORKFLOW = "IngestWorkflow"
EMBED_WORKFLOW = "EmbedWorkflow"
CORPUS_WORKFLOW = "CorpusWorkflow"
SQL_WORKFLOW = "SqlWorkflow"
GRAPH_WORKFLOW = "GraphWorkflow"
ASK_WORKFLOW = "AskWorkflow"
MEMORY_WORKFLOW = "MemoryWorkflow"

QUERY_TIMEOUT = timedelta(seconds=10)
"""Time a query waits for a worker; a starting worker needs some seconds."""

NO_ANSWER = (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.FAILED_PRECONDITION, RPCStatusCode.CANCELLED)
"""Statuses of a query that found no worker in time."""

_ENCRYPTED_MESSAGE = "Encoded failure"
"""Message of the SDK in place of an encrypted one."""
_FOREIGN = "the keys of this client are not those of its worker"

_IS_OVER = re.compile("already completed|aborted by closing workflow")
"""Messages of the server about a run that has ended or is just ending."""


async def open_session(server: ServerTarget) -> Client:
    """Connect to the server of a target.

    Raises:
        Unreachable: it does not answer.
    """
    try:
        return await connection.connect(server.settings)
    except connection.ServerUnreachable as error:
        raise Unreachable(f"{error}; {suggest_remedy(server)}") from error


class Session:
    """Server of a home, with a connection that reconnects itself; without one, it is opened at the first use."""

    def __init__(self, server: ServerTarget, client: Client | None = None) -> None:
        self.place = server
        self._client = client

    @property
    def settings(self) -> ClientSettings:
        """Settings of the home."""
        return self.place.settings

    async def connect(self) -> Client:
        """Return the connection.

        Raises:
            Unreachable: the server does not answer.
        """
        if self._client is None:
            self._client = await open_session(self.place)
        return self._client


async def start_unique_workflow(
    session: Session,
    workflow: str,
    request: object,
    kind: type[T],
    *,
    id: str,
    summary: str,
    busy: str,
    priority: Priority = Priority.default,
) -> WorkflowHandle[object, T]:
    """Start a workflow of which one at a time may run under its id, and return it with the type of its result.

    The web UI shows `summary`; `busy` is the error if it is running already.

    Raises:
        TenureError: it is running already, or the server refuses.
    """
    try:
        with explain_refusals(id):
            return await (await session.connect()).start_workflow(
                workflow,
                request,
                id=id,
                task_queue=TENURE_QUEUE,
                result_type=kind,
                static_summary=truncate_bytes(summary),
                priority=priority,
            )
    except WorkflowAlreadyStartedError as error:
        raise TenureError(busy) from error


async def run_workflow(
    session: Session,
    workflow: str,
    request: object,
    kind: type[T],
    *,
    action: str,
    summary: str,
    limit: timedelta | None = None,
) -> T:
    """Run a workflow to its end and return its result, of the given type.

    Its id begins with `action`, the web UI shows `summary`, and `limit` includes the start of a worker.

    Raises:
        Unreachable: no worker answers.
        TenureError: it failed.
    """
    client, id = await session.connect(), f"{action}-{uuid4().hex[:8]}"
    with explain_refusals(id):
        reply: T = await client.execute_workflow(
            workflow,
            request,
            id=id,
            task_queue=TENURE_QUEUE,
            result_type=kind,
            static_summary=truncate_bytes(summary),
            execution_timeout=limit,
        )
    return reply


@contextmanager
def explain_refusals(run_id: str) -> Iterator[None]:
    """Turn the server's refusals concerning a run into one-line errors."""
    try:
        yield
    except WorkflowFailureError as error:
        raise TenureError(f"run {run_id} failed: {describe_failure(error)}") from error
    except WorkflowQueryFailedError as error:
        reason = _FOREIGN if str(error) == _ENCRYPTED_MESSAGE else truncate_line(str(error), 200)
        raise TenureError(f"run {run_id} cannot answer: {reason}") from error
    except RPCError as error:
        raise describe_refusal(error, run_id) from error
    except UnknownHistory as error:
        raise describe_missing_run(run_id) from error
    except DecryptionError as error:
        raise TenureError(f"{run_id} cannot be read: {error}") from error


def describe_missing_run(run_id: str) -> TenureError:
    """Return a readable message for a run that does not exist."""
    return MissingRun(run_id)


@contextmanager
def explain_ended_query(run_id: str, *, is_running: bool) -> Iterator[None]:
    """Turn a missing answer of an ended workflow into an error: only a worker of its version can compute it.

    Raises:
        TenureError: the workflow has ended, and no worker of its version answers.
    """
    try:
        yield
    except RPCError as error:
        if error.status not in NO_ANSWER or is_running:
            raise
        raise TenureError(
            f"{run_id} has ended, and no worker answers for the version of the code that it ran under: "
            f"`{PROGRAM} report {run_id}` shows its report"
        ) from error


def describe_refusal(error: RPCError, run_id: str) -> TenureError:
    """Return a readable message for an error of the server."""
    if error.status == RPCStatusCode.NOT_FOUND and _IS_OVER.search(error.message):
        return TenureError(f"run {run_id} is finished: `{PROGRAM} report {run_id}` shows its report")
    if error.status == RPCStatusCode.NOT_FOUND and "amespace" in error.message:
        return Unreachable(f"{truncate_line(error.message, 150)}: check TEMPORAL_NAMESPACE")
    if error.status == RPCStatusCode.NOT_FOUND:
        return describe_missing_run(run_id)
    if error.status in NO_ANSWER:
        return Unreachable(f"no worker answers for {run_id}: start one with `{PROGRAM} up`")
    if error.status == RPCStatusCode.UNAVAILABLE:
        return Unreachable(f"the Temporal server no longer answers: see `{PROGRAM} status`")
    return TenureError(
        f"the Temporal server refuses ({error.status.name.lower()}): {truncate_line(error.message, 200)}"
    )


async def register_search_attributes(session: Session) -> None:
    """Register the search attributes of a run in the namespace if they are missing.

    Raises:
        Unreachable: some are missing and the server refuses to add them.
    """
    client = await session.connect()
    missing = [key.name for key in ALL]
    try:
        request = ListSearchAttributesRequest(namespace=client.namespace)
        reply = await client.operator_service.list_search_attributes(request)
        missing = [name for name in missing if name not in reply.custom_attributes]
        if missing:
            keyword = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
            await client.operator_service.add_search_attributes(
                AddSearchAttributesRequest(
                    namespace=client.namespace, search_attributes=dict.fromkeys(missing, keyword)
                )
            )
    except RPCError as error:
        if error.status == RPCStatusCode.ALREADY_EXISTS:
            return  # another client was quicker
        if error.status in (RPCStatusCode.UNAVAILABLE, RPCStatusCode.NOT_FOUND):
            raise describe_refusal(error, "") from error
        options = " ".join(f"--name {name} --type Keyword" for name in missing)
        raise Unreachable(
            f"namespace {client.namespace} lacks search attributes and does not let this client add them: run "
            f"`temporal operator search-attribute create --address {session.place.address} "
            f"--namespace {client.namespace} {options}`"
        ) from error
