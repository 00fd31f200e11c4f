"""Bind each namespace to one knowledge base: no run is executed with the documents and memories of another home.

The task queues have the same names in every home, so the workers of two homes in one namespace would take each other's
tasks. The first worker of a namespace therefore records the identity of its knowledge base there, and a worker with
another base does not start. The record is a paused schedule without times: every server has schedules, creates one
atomically, and keeps it without a worker and for longer than any history. Workers that run only programs have no
knowledge base and are not checked.
"""

import asyncio
import socket
from contextlib import suppress

import structlog
from temporalio.api.common.v1 import Payload
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleSpec,
    ScheduleState,
)
from temporalio.service import RPCError, RPCStatusCode

from tenure.knowledge.store.errors import StoreUnreachable
from tenure.knowledge.store.identity import ensure_identity, read_identities
from tenure.settings.home import HomeSettings
from tenure.temporal.connection import AccessRefused, ServerUnreachable
from tenure.temporal.encryption import DecryptionError
from tenure.temporal.schedules import MAINTENANCE, MAX_SUMMARY_BYTES
from workflows.runtime.task_queues import TENURE_QUEUE

BINDING = "knowledge-base"
"""Id of the schedule."""

_NOTE = "This schedule starts nothing. The id of its workflow identifies the knowledge base that this namespace serves."
_UNSUPPORTED = (RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED)
"""Statuses of a server without schedules, or with a login that does not allow them."""

_REFUSALS = (RPCStatusCode.NOT_FOUND, RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNAUTHENTICATED)
"""Statuses of a namespace that does not exist, or of wrong credentials."""


class NamespaceTaken(Exception):
    """The namespace is bound to another knowledge base; the message is one line that says what to do."""

    def __init__(self, namespace: str, location: str, own: str) -> None:
        super().__init__(
            f"the namespace {namespace!r} is served with another knowledge base ({location}) than {own}: choose that "
            "base with TENURE_HOME or TENURE_LANCEDB_URI, or a namespace of your own with TEMPORAL_NAMESPACE; if that "
            f"base is given up, delete the schedule {BINDING!r}"
        )


async def bind_namespace(client: Client, settings: HomeSettings) -> None:
    """Bind the namespace to the knowledge base of a worker, if it is bound to none.

    Raises:
        NamespaceTaken: it is bound to another one.
        ServerUnreachable: the server does not answer, or refuses.
        StoreUnreachable: the knowledge base cannot be read or written.
    """
    # Stored before it is recorded: each worker of this base that finds the record finds its identity.
    identity = await asyncio.to_thread(ensure_identity, settings.knowledge_uri)
    schedule = Schedule(
        action=ScheduleActionStartWorkflow(
            MAINTENANCE, id=identity, task_queue=TENURE_QUEUE, static_summary=_describe_location(settings)
        ),
        spec=ScheduleSpec(),
        state=ScheduleState(paused=True, note=_NOTE),
    )
    try:
        with suppress(ScheduleAlreadyRunningError):
            await client.create_schedule(BINDING, schedule)
    except RPCError as error:
        if error.status not in _UNSUPPORTED:
            raise _explain_outage(client, error) from error
        structlog.get_logger().warning(
            "it is unknown whether workers with another knowledge base serve this namespace: the server refuses the "
            "schedule",
            reason=error.message,
        )
    await check_namespace(client, settings)


async def check_namespace(client: Client, settings: HomeSettings) -> None:
    """Check that the namespace is bound to the knowledge base of these settings, or to none.

    Raises:
        NamespaceTaken: it is bound to another one.
        ServerUnreachable: the server does not answer.
        StoreUnreachable: the knowledge base cannot be read.
    """
    try:
        action = (await client.get_schedule_handle(BINDING).describe()).schedule.action
    except RPCError as error:
        if error.status in (RPCStatusCode.NOT_FOUND, *_UNSUPPORTED):
            return
        raise _explain_outage(client, error) from error
    assert isinstance(action, ScheduleActionStartWorkflow), "schedules have no other actions"
    if action.id not in await asyncio.to_thread(read_identities, settings.knowledge_uri):
        location = await _read_location(client, action)
        raise NamespaceTaken(client.namespace, location, settings.knowledge_uri)


async def describe_other_base(client: Client, settings: HomeSettings, *, for_worker: bool = False) -> str:
    """Return a line about the other knowledge base that the namespace is bound to, or an empty text if there is none.

    Args:
        client: client of the server.
        settings: settings of a client or worker.
        for_worker: whether a worker is to be started. Only a worker needs a knowledge base.

    Raises:
        ServerUnreachable: the server does not answer.
    """
    try:
        identities = await asyncio.to_thread(read_identities, settings.knowledge_uri)
        if identities or for_worker:
            await check_namespace(client, settings)
    except (NamespaceTaken, StoreUnreachable) as error:
        return str(error)
    return ""


def _describe_location(settings: HomeSettings) -> str:
    """Return the place of the knowledge base, as much of it as the server stores."""
    host = "" if "://" in settings.knowledge_uri else f" on {socket.gethostname()}"
    return f"{settings.knowledge_uri}{host}".encode()[:MAX_SUMMARY_BYTES].decode(errors="ignore")


async def _read_location(client: Client, action: ScheduleActionStartWorkflow) -> str:
    """Return the place of the base of a binding, or its identity if this client cannot read the place."""
    if not isinstance(action.static_summary, Payload):
        return action.id
    try:
        [location] = await client.data_converter.decode([action.static_summary], [str])
    except DecryptionError:
        return action.id
    return str(location)


def _explain_outage(client: Client, error: RPCError) -> ServerUnreachable:
    """Return the error of a server that does not answer a question about the binding."""
    failure = AccessRefused if error.status in _REFUSALS else ServerUnreachable
    return failure(client.service_client.config.target_host, " ".join(error.message.split())[:200])
