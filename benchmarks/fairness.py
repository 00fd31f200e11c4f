"""Measure how long one owner waits behind another's many runs: `python -m benchmarks.fairness [--json] [--crowd N]`.

One owner starts many workflows of one activity each; when all of these activities wait for the only slot of the only
worker, another owner starts one. The figure is the number of activities of the first owner that start before it. It is
taken four times on a separate development server: without options, with a higher priority, with fairness keys on a
server without fairness, and with fairness keys on a server with fairness.
"""

import argparse
import asyncio
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client, WorkflowHandle
from temporalio.common import Priority
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tests.conftest import temporal_binary

_WORKFLOWS, _ACTIVITIES = "fairness", "fairness-work"
_CROWD = 200
_SECONDS = 0.02
"""Duration of an activity."""
_LOOK = 0.02
_FAIR = ("--dynamic-config-value", "matching.enableFairness=true")

CASES: dict[str, tuple[tuple[str, ...], Priority, Priority]] = {
    "nothing": ((), Priority(), Priority()),
    "priority": ((), Priority(priority_key=4), Priority(priority_key=2)),
    "keys, fairness off": ((), Priority(fairness_key="crowd"), Priority(fairness_key="one")),
    "keys, fairness on": (_FAIR, Priority(fairness_key="crowd"), Priority(fairness_key="one")),
}
"""By name: options of the server, what the crowd is started with, and what the one is."""


@dataclass
class Counter:
    """Counter of the activities that started before the last one."""

    begun: list[str] = field(default_factory=list)
    """Owners, in the order in which their activities began."""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    """Opens when everybody waits."""

    @activity.defn
    async def work(self, owner: str) -> None:
        """Count one activity and keep its slot for a moment."""
        await self.gate.wait()
        self.begun.append(owner)
        await asyncio.sleep(_SECONDS)


@workflow.defn
class OneActivity:
    """Asks for one activity."""

    @workflow.run
    async def run(self, owner: str) -> None:
        """Wait for it."""
        await workflow.execute_activity_method(
            Counter.work, owner, task_queue=_ACTIVITIES, start_to_close_timeout=timedelta(minutes=5)
        )


async def waited(client: Client, crowd: int, theirs: Priority, ours: Priority) -> int:
    """Return the number of activities that start before the one that was added last."""
    counter = Counter()
    working = Worker(client, task_queue=_ACTIVITIES, activities=[counter.work], max_concurrent_activities=1)
    deciding = Worker(
        client, task_queue=_WORKFLOWS, workflows=[OneActivity], workflow_runner=UnsandboxedWorkflowRunner()
    )
    async with working, deciding:
        many = [await _start(client, "crowd", theirs) for _ in range(crowd)]
        await _all_asked_for(many)
        one = await _start(client, "one", ours)
        await _all_asked_for([one])
        counter.gate.set()
        for handle in [*many, one]:
            await handle.result()
    return counter.begun.index("one")


async def _start(client: Client, owner: str, priority: Priority) -> WorkflowHandle[OneActivity, None]:
    return await client.start_workflow(
        OneActivity.run, owner, id=f"{owner}-{uuid.uuid4().hex}", task_queue=_WORKFLOWS, priority=priority
    )


async def _all_asked_for(handles: Sequence[WorkflowHandle[OneActivity, None]]) -> None:
    """Wait until every workflow has asked for its activity."""
    for handle in handles:
        while True:
            if (await handle.describe()).raw_description.pending_activities:
                break
            await asyncio.sleep(_LOOK)


async def measure(crowd: int) -> dict[str, int]:
    """Return the figure for each case, each on a separate server."""
    figures: dict[str, int] = {}
    for name, (options, theirs, ours) in CASES.items():
        async with await WorkflowEnvironment.start_local(
            dev_server_existing_path=temporal_binary(),
            dev_server_extra_args=list(options),
            dev_server_log_level="error",
        ) as server:
            figures[name] = await waited(server.client, crowd, theirs, ours)
    return figures


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fairness", description=__doc__)
    parser.add_argument("--crowd", type=int, default=_CROWD, metavar="N", help=f"default: {_CROWD}")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    figures = asyncio.run(measure(arguments.crowd))
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name:20} {number:5} of {arguments.crowd} begin first" for name, number in figures.items()))


if __name__ == "__main__":
    main()
