"""Observe a worker from inside: the ticks of its event loop, its running activities, and the polls of its queues.

A poll lasts up to a minute, so the server's time of the last one says whether a queue is served. A queue without a
free slot is not polled on purpose, and while the server does not answer nothing is known; neither counts as a fault.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Any, Literal, Self

from temporalio import activity
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor, Worker

WorkerStatus = Literal["starting", "serving", "stopping"]

TICK_SECONDS = 0.5
"""Interval between two ticks of the event loop."""

MAX_LOOP_AGE_SECONDS = 10.0
"""Age of the last tick above which the event loop counts as stuck; as long as the heartbeat timeout of activities."""

MAX_START_SECONDS = 300.0
"""The same while the worker starts: it tries every workflow in its event loop."""

POLL_CHECK_SECONDS = 10.0
"""Interval between two requests for the polls of the queues."""

MAX_POLL_AGE_SECONDS = 600.0
"""Age of the last poll above which a queue with free slots counts as not polled.

The server shows one partition of a queue, which a single worker may poll much less often than once a minute.
"""

_ANSWER_TIMEOUT = timedelta(seconds=5)
_KINDS: Mapping[str, "TaskQueueType.ValueType"] = {
    "activity": TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
    "workflow": TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
}


@dataclass
class _Polls:
    """Polls of one kind of tasks of one queue."""

    client: Client
    """Client of the worker, whose namespace has the queue."""
    queue: str
    kind: str
    identity: str
    slots: int | None = None
    """Number of activities that may run concurrently; None for workflow tasks, which are short."""
    pollers: int | None = None
    """Number of workers that poll, this one and others; None if unknown."""
    last_access: int = 0
    """The server's time of this worker's last poll, in nanoseconds; 0 for none."""
    seen: float = field(default_factory=time.monotonic)
    """Time of this process at which a new poll was last seen, or could not have been seen."""


class WorkerMonitor(Interceptor):
    """State of one worker process; as a context manager it ticks in the running event loop.

    It is an interceptor of the workers, too, to count the running activities of each queue. Queues of other namespaces
    than that of the client are shown with their namespace.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._status: WorkerStatus = "starting"
        self._ticked = time.monotonic()
        self._polls: list[_Polls] = []
        self._running: Counter[tuple[str, str]] = Counter()
        self._group = asyncio.TaskGroup()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._tasks = [self._group.create_task(self._tick()), self._group.create_task(self._observe())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        # The group would wrap an error of the worker, whose line then says nothing; it needs its own cancellation only.
        is_cancelled = isinstance(error, asyncio.CancelledError)
        await self._group.__aexit__(*((kind, error, trace) if is_cancelled else (None, None, None)))

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Count the running activities."""
        return _CountingInbound(next, self._running)

    def watch(self, workers: Sequence[Worker]) -> None:
        """Observe the queues of workers that have been started."""
        for worker in workers:
            config = worker.config()
            client = worker.client
            identity = config.get("identity") or client.identity
            if config.get("activities"):
                slots = config.get("max_concurrent_activities")
                self._polls.append(_Polls(client, worker.task_queue, "activity", identity, slots))
            if config.get("workflows"):
                self._polls.append(_Polls(client, worker.task_queue, "workflow", identity))
        self._status = "serving"

    def stop(self) -> None:
        """Record that the workers stop taking work."""
        self._status = "stopping"

    def find_fault(self) -> str:
        """Return the reason for restarting the worker, or an empty string."""
        loop_age = time.monotonic() - self._ticked
        if loop_age > (MAX_START_SECONDS if self._status == "starting" else MAX_LOOP_AGE_SECONDS):
            return f"its event loop has not run for {loop_age:.0f} s"
        if self._status == "serving":
            for polls in self._polls:
                if (age := time.monotonic() - polls.seen) > MAX_POLL_AGE_SECONDS:
                    return f"it has not polled {polls.queue} for {polls.kind} tasks for {age:.0f} s"
        return ""

    def describe(self) -> dict[str, Any]:
        """Return the state for a health check."""
        now, fault = time.monotonic(), self.find_fault()
        queues: dict[str, dict[str, Any]] = {}
        for polls in self._polls:
            kind: dict[str, Any] = {"pollers": polls.pollers, "poll_age_seconds": round(now - polls.seen, 1)}
            if polls.kind == "activity":
                kind |= {"running": self._running[polls.client.namespace, polls.queue], "slots": polls.slots}
            is_own = polls.client.namespace == self._client.namespace
            name = polls.queue if is_own else f"{polls.client.namespace}/{polls.queue}"
            queues.setdefault(name, {})[polls.kind] = kind
        return {
            "status": "stuck" if fault else self._status,
            "reason": fault or ("" if self._status == "serving" else f"the worker is {self._status}"),
            "pid": os.getpid(),
            "loop_age_seconds": round(now - self._ticked, 2),
            "queues": queues,
        }

    async def _tick(self) -> None:
        while True:
            self._ticked = time.monotonic()
            await asyncio.sleep(TICK_SECONDS)

    async def _observe(self) -> None:
        while True:
            for polls in tuple(self._polls):
                await self._update(polls)
            await asyncio.sleep(POLL_CHECK_SECONDS if self._polls else TICK_SECONDS)

    async def _update(self, polls: _Polls) -> None:
        """Ask the server for the polls of a queue; an unreachable server says nothing about this worker."""
        request = DescribeTaskQueueRequest(
            namespace=polls.client.namespace,
            task_queue=TaskQueue(name=polls.queue),
            task_queue_type=_KINDS[polls.kind],
        )
        last_access = None
        with suppress(RPCError):
            reply = await polls.client.workflow_service.describe_task_queue(request, timeout=_ANSWER_TIMEOUT)
            own = [poller for poller in reply.pollers if poller.identity == polls.identity]
            last_access = max((poller.last_access_time.ToNanoseconds() for poller in own), default=0)
        polls.pollers = None if last_access is None else len(reply.pollers)
        is_full = polls.slots is not None and self._running[polls.client.namespace, polls.queue] >= polls.slots
        if last_access is None or is_full or last_access > polls.last_access:
            polls.seen, polls.last_access = time.monotonic(), max(last_access or 0, polls.last_access)


class _CountingInbound(ActivityInboundInterceptor):
    """Interceptor that counts an activity while it runs."""

    def __init__(self, next: ActivityInboundInterceptor, running: Counter[tuple[str, str]]) -> None:
        super().__init__(next)
        self._running = running

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        """Execute the activity."""
        queue = activity.info().namespace, activity.info().task_queue
        self._running[queue] += 1
        try:
            return await super().execute_activity(input)
        finally:
            self._running[queue] -= 1
