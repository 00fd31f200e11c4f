"""Check a worker container: does the Temporal server see this host poll its task queues?

A worker that does not poll does no work even if its process runs. The server lists the pollers of a queue by
identity, `pid@host` as the SDK sets it, so the check needs no port on the worker.
"""

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import Sequence

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.service import RPCError

from workflows.runtime.task_queues import ALL_QUEUES


async def find_unserved_queues(client: Client, queues: Sequence[str], host: str) -> list[str]:
    """Return the queues that no worker on the host polls."""
    served = await asyncio.gather(*(_is_served(client, queue, host) for queue in queues))
    return [queue for queue, is_served in zip(queues, served, strict=True) if not is_served]


async def _is_served(client: Client, queue: str, host: str) -> bool:
    reply = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        )
    )
    return any(poller.identity.endswith(f"@{host}") for poller in reply.pollers)


async def _main(queues: Sequence[str]) -> str | None:
    config = ClientConfig.load_client_connect_config()
    config.setdefault("target_host", "localhost:7233")
    try:
        idle = await find_unserved_queues(await Client.connect(**config), queues, socket.gethostname())
    except (RPCError, RuntimeError) as error:  # the SDK raises RuntimeError where it cannot connect
        return f"the Temporal server does not answer: {error}"
    return f"no worker on this host polls {', '.join(idle)}" if idle else None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Exit with 0 if this host polls the task queues, else with 1.")
    parser.add_argument("--queues", default=",".join(ALL_QUEUES), help="task queues, separated by commas")
    complaint = asyncio.run(_main(parser.parse_args().queues.split(",")))
    if complaint:
        print(complaint, file=sys.stderr, flush=True)
    # Skip the interpreter's shutdown: after a failed connection the SDK's threads can crash it.
    os._exit(1 if complaint else 0)
