"""Connect to the namespaces of all owners; a broken namespace does not prevent the service of the others."""

from collections.abc import Sequence
from typing import TypeVar

import structlog
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, Interceptor
from temporalio.runtime import Runtime
from temporalio.service import RPCError

from tenure.settings.home import ConnectionSettings
from tenure.temporal.connection import AccessRefused, ServerUnreachable, connect
from tenure.temporal.namespace_binding import NamespaceTaken, bind_namespace, describe_other_base

S = TypeVar("S", bound=ConnectionSettings)


async def connect_owners(
    settings: S, runtime: Runtime, interceptors: Sequence[Interceptor], *, binds: bool
) -> list[tuple[S, Client]]:
    """Return settings and a client for each owner whose namespace can be used; the log names the others.

    A worker with a knowledge base `binds` the namespaces to it.

    Raises:
        AccessRefused, NamespaceTaken: no namespace can be used; the error is that of the first.
        ServerUnreachable, StoreUnreachable: the server or the knowledge base does not answer, which a new start of
            the worker may correct.
    """
    served: list[tuple[S, Client]] = []
    faults: dict[str, Exception] = {}
    for own in settings.list_owners():
        try:
            client = await connect(own, runtime, interceptors)
            if binds:
                await bind_namespace(client, own)
        except (AccessRefused, NamespaceTaken) as error:
            faults[own.owner] = error
        else:
            served.append((own, client))
    if not served:
        raise next(iter(faults.values()))
    for owner, fault in faults.items():
        remedy = "correct it and restart the worker"
        structlog.get_logger().error("an owner is not served", owner=owner or None, why=str(fault), remedy=remedy)
    return served


async def find_owner_fault(settings: ConnectionSettings) -> str:
    """Return the reason why a worker cannot serve the owner of these settings, or an empty string."""
    try:
        client = await connect(settings)
        # A missing namespace and a missing binding have the same status below.
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
        return await describe_other_base(client, settings, for_worker=True)
    except (ServerUnreachable, RPCError) as error:
        return str(error)
