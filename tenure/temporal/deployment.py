"""Let a run finish under the code that it began with, by Temporal's Worker Versioning.

Workers of the same source are one version of the deployment `tenure`; the hash of the source names it. The server gives
new runs to the current version only. Every workflow is pinned: its tasks, its activities and its child workflows go to
workers of the version that took its first step, so no run is replayed by other code. A version of which no workflow
runs any more is not needed. Schedules start workflows of the current version.
"""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog
from temporalio.api.deployment.v1 import WorkerDeploymentInfo, WorkerDeploymentVersionInfo
from temporalio.api.deployment.v1 import WorkerDeploymentVersion as VersionMessage
from temporalio.api.enums.v1 import TaskQueueType, WorkerDeploymentVersionStatus
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    CountWorkflowExecutionsRequest,
    DescribeTaskQueueRequest,
    DescribeTaskQueueResponse,
    DescribeWorkerDeploymentRequest,
    DescribeWorkerDeploymentVersionRequest,
    SetWorkerDeploymentCurrentVersionRequest,
)
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import WorkerDeploymentConfig

from tenure.temporal.stack.versions import VersionState
from workflows.runtime.task_queues import TENURE_QUEUE

DEPLOYMENT_NAME: Final = "tenure"
"""Name of the deployment whose versions the workers are."""
EARLIER_STATUSES: Final = (
    WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING,
    WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED,
)
"""Statuses of a version that got new runs before another one took its place."""

VISIBILITY_DELAY: Final = timedelta(seconds=60)
"""Time after which the server's list of workflows contains a started workflow, also on a busy machine."""

_UNSUPPORTED: Final = (RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED)
"""Statuses of a server without Worker Versioning, or with a login that does not allow it."""
_NOT_YET: Final = (
    RPCStatusCode.NOT_FOUND,
    RPCStatusCode.FAILED_PRECONDITION,
    RPCStatusCode.UNAVAILABLE,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.RESOURCE_EXHAUSTED,
    RPCStatusCode.ABORTED,
)
"""Statuses of a change that may succeed later: no worker polls yet, or the server is busy or away."""
_MAX_PAUSE_SECONDS: Final = 5.0


class VersioningRefused(Exception):
    """The server does not take part in Worker Versioning; the message is one line that says what to do."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the Temporal server refuses Worker Versioning ({' '.join(reason.split())[:200]}): update the server, "
            "allow this login to change deployments, or set TENURE_WORKER_VERSIONING=off"
        )


def make_deployment_config(build_id: str) -> WorkerDeploymentConfig:
    """Return the options of a worker of a version; every workflow stays with the version of its first step."""
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(DEPLOYMENT_NAME, build_id),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )


async def describe_deployment(client: Client) -> WorkerDeploymentInfo | None:
    """Return the versions that the server knows, or None if no versioned worker has polled yet.

    Raises:
        VersioningRefused: the server has no Worker Versioning, or does not allow the question.
        RPCError: the server does not answer, or refuses.
    """
    request = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=DEPLOYMENT_NAME)
    try:
        return (await client.workflow_service.describe_worker_deployment(request, retry=True)).worker_deployment_info
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return None
        if error.status in _UNSUPPORTED:
            raise VersioningRefused(error.message) from error
        raise


async def read_current_build_id(client: Client) -> str:
    """Return the build id of the version that gets new runs, or an empty text if these are unversioned workers.

    Raises:
        VersioningRefused: the server has no Worker Versioning, or does not allow the question.
        RPCError: the server does not answer, or refuses.
    """
    deployment = await describe_deployment(client)
    return deployment.routing_config.current_deployment_version.build_id if deployment else ""


async def read_states(client: Client, build_ids: Collection[str]) -> dict[str, VersionState]:
    """Return the states of some versions.

    A version is in use if it gets new runs or has running workflows, and for a minute after it was replaced: the list
    of workflows may not contain its last run before. The server checks longer until it calls a version drained.

    Raises:
        VersioningRefused: the server has no Worker Versioning, or does not allow the question.
        RPCError: the server does not answer, or refuses.
    """
    counts = await asyncio.gather(*(count_running_workflows(client, build_id) for build_id in build_ids))
    # Read after the counts: a run that began meanwhile belongs to the version that was current before.
    deployment = await describe_deployment(client)
    summaries = {item.deployment_version.build_id: item for item in deployment.version_summaries} if deployment else {}
    current = deployment.routing_config.current_deployment_version.build_id if deployment else ""
    return {
        build_id: "in_use" if count or build_id == current else _judge_summary(summaries.get(build_id))
        for build_id, count in zip(build_ids, counts, strict=True)
    }


def _judge_summary(summary: WorkerDeploymentInfo.WorkerDeploymentVersionSummary | None) -> VersionState:
    """Return the state of a version without known runs that gets no new ones."""
    statuses = WorkerDeploymentVersionStatus
    if summary is None or summary.status in (
        statuses.WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE,
        statuses.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED,
    ):
        return "drained"
    if summary.status != statuses.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING:
        return "in_use"
    since = datetime.now(UTC) - summary.last_deactivation_time.ToDatetime(UTC)
    return "in_use" if since < VISIBILITY_DELAY else "idle"


async def describe_workflow_queue(client: Client) -> DescribeTaskQueueResponse:
    """Return the versions of the queue of workflows at the server, and the workers that poll it.

    Raises:
        RPCError: the server does not answer.
    """
    request = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=TENURE_QUEUE),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    return await client.workflow_service.describe_task_queue(request)


async def count_running_workflows(client: Client, build_id: str) -> int:
    """Return the number of running workflows of a version.

    Raises:
        RPCError: the server does not answer, or refuses.
    """
    query = f"TemporalWorkerDeploymentVersion = '{DEPLOYMENT_NAME}:{build_id}' AND ExecutionStatus = 'Running'"
    request = CountWorkflowExecutionsRequest(namespace=client.namespace, query=query)
    return (await client.workflow_service.count_workflow_executions(request)).count


async def make_current(client: Client, build_id: str, queues: Collection[str], *, complete: bool = False) -> None:
    """Set the version that gets new runs, as soon as its workers poll the queues.

    Args:
        client: client of the server.
        build_id: version; an empty one stands for unversioned workers.
        queues: task queues that workers of the version must poll first.
        complete: whether these are all queues. Otherwise the server waits until the version serves every queue that
            the version before it served: its workers may be spread over several processes.

    Raises:
        VersioningRefused: the server has no Worker Versioning, or does not allow the change.
        RPCError: the server refuses for another reason.
    """
    logger, logged = structlog.get_logger(), ""
    request = SetWorkerDeploymentCurrentVersionRequest(
        namespace=client.namespace,
        deployment_name=DEPLOYMENT_NAME,
        build_id=build_id,
        identity=client.identity,
        ignore_missing_task_queues=complete,
        allow_no_pollers=not build_id,
    )
    for pause in _iterate_pauses():
        try:
            if not build_id or set(queues) <= await list_polled_queues(client, build_id):
                await client.workflow_service.set_worker_deployment_current_version(request)
                break
        except RPCError as error:
            if error.status in _UNSUPPORTED:
                raise VersioningRefused(error.message) from error
            if error.status not in _NOT_YET:
                raise
            if error.message != logged and error.status != RPCStatusCode.NOT_FOUND:
                logged = error.message
                logger.info("this version does not get new runs yet", version=build_id, reason=logged)
        await asyncio.sleep(pause)
    await _wait_for_routing(client, build_id)
    logger.info("new runs use this version", version=build_id or "unversioned")


async def check_version(client: Client, build_id: str, queues: Sequence[str], *, has_versioning: bool) -> None:
    """Report a worker without a version if new runs use one; without versioning, end that.

    Raises:
        VersioningRefused: the server does not allow the change.
    """
    if build_id:
        return
    try:
        current = await read_current_build_id(client)
    except (VersioningRefused, RPCError) as error:  # a server without it, or a gate that allows polling only
        structlog.get_logger().debug("the versions of workers are unknown", reason=str(error))
        return
    if current and not has_versioning and TENURE_QUEUE in queues:
        await make_current(client, "", queues)
    elif current:
        structlog.get_logger().warning(
            "new runs use a version, and this worker has none: start it with --versioned", version=current
        )


async def is_earlier_version(client: Client, build_id: str) -> bool:
    """Return whether a version got new runs before another one took its place.

    Raises:
        VersioningRefused: the server has no Worker Versioning, or does not allow the question.
        RPCError: the server does not answer, or refuses.
    """
    try:
        status = (await _describe_version(client, build_id)).status
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return False
        if error.status in _UNSUPPORTED:
            raise VersioningRefused(error.message) from error
        raise
    return status in EARLIER_STATUSES


async def _wait_for_routing(client: Client, build_id: str) -> None:
    """Wait until the queue of workflows knows the current version, unless another one becomes current meanwhile."""
    for pause in _iterate_pauses():
        routed = (await describe_workflow_queue(client)).versioning_info
        if routed.current_deployment_version.build_id == build_id or await read_current_build_id(client) != build_id:
            return
        await asyncio.sleep(pause)


async def list_polled_queues(client: Client, build_id: str) -> set[str]:
    """Return the queues whose activities workers of a version have polled for; none for an unknown version.

    Raises:
        RPCError: the server does not answer, or refuses.
    """
    try:
        version = await _describe_version(client, build_id)
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return set()
        raise
    return {queue.name for queue in version.task_queue_infos if queue.type == TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY}


async def _describe_version(client: Client, build_id: str) -> WorkerDeploymentVersionInfo:
    version = VersionMessage(deployment_name=DEPLOYMENT_NAME, build_id=build_id)
    request = DescribeWorkerDeploymentVersionRequest(namespace=client.namespace, deployment_version=version)
    # The server limits requests about a deployment; the client waits and asks again.
    reply = await client.workflow_service.describe_worker_deployment_version(request, retry=True)
    return reply.worker_deployment_version_info


def _iterate_pauses() -> Iterator[float]:
    """Yield growing pauses in seconds, without an end."""
    pause = 0.05
    while True:
        yield pause
        pause = min(pause * 1.5, _MAX_PAUSE_SECONDS)
