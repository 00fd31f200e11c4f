"""Flood one run with signals: `python -m benchmarks.durability.signals [--signals N] [--megabytes N] [--json]`.

Two runs of a local stack write their reports with a loopback model server. While the model writes, the first receives
many short pieces of feedback and the second a large amount of feedback in pieces of the maximum length. Each has to end
with its report, whose notes name the bound.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
from temporalio.api.enums.v1 import EventType, WorkflowTaskFailedCause
from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from benchmarks.start import environment
from tenure.algorithms.control.steering import MAX_FEEDBACK_LENGTH
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.settings import Settings
from tenure.temporal.connection import connect
from tenure.temporal.stack.record import load
from tests.model_server import ModelServer
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

SHORT_FEEDBACK_LENGTH = 40
"""Characters of a short piece of feedback."""

MAX_CONCURRENT_SIGNALS = 64
"""Signals that are sent concurrently."""

_ROOT = Path(__file__).resolve().parents[2]
_ROLE = "report_writer"
_TOPICS = [{"heading": name, "question": f"What of {name}?"} for name in ("Crashes", "Budgets")]
_SIGNALLED = (
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
    WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
)
"""Causes of tasks that the server repeats because signals arrived meanwhile."""
_BOUNDS = ("signals were not read", "the limit is", "accepts for one run")


@dataclass(frozen=True)
class FloodOutcome:
    """A run that received many signals."""

    signals: int
    """Signals that were sent."""
    megabytes: float
    """Size of their texts."""
    refused_by_server: int
    """Signals that the server refused, since the run had as many as it accepts."""
    status: str
    """Status of the report."""
    feedback: int
    """Pieces of feedback in the report."""
    bounds: tuple[str, ...]
    """Notes of the report that name a bound."""
    seconds_to_send: float
    seconds_to_end: float
    """Seconds from the last signal to the report."""
    events: int
    """Events of the run's history."""
    history_megabytes: float
    repeated_tasks: int
    """Workflow tasks that the server repeated, since too many signals arrived meanwhile or their time was over."""
    failed_tasks: tuple[str, ...]
    """Messages of workflow tasks that failed in the worker."""


async def flood(handle: WorkflowHandle[Any, Any], count: int, length: int) -> int:
    """Send feedback to a run as fast as the server takes it; return how many signals the server refused.

    Args:
        handle: the run.
        count: number of signals.
        length: characters of each text; the texts differ.
    """
    free, refused = asyncio.Semaphore(MAX_CONCURRENT_SIGNALS), 0

    async def send(number: int) -> None:
        nonlocal refused
        async with free:
            try:
                await handle.signal("feedback", f"Say more on matter {number}. ".ljust(length, "x"))
            except RPCError as error:
                if error.status not in (RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.RESOURCE_EXHAUSTED):
                    raise
                refused += 1

    await asyncio.gather(*(send(number) for number in range(count)))
    return refused


async def describe_outcome(
    handle: WorkflowHandle[Any, Result], count: int, length: int, refused: int, times: tuple[float, float]
) -> FloodOutcome:
    """Return the outcome of a finished run."""
    result = await handle.result()
    repeated, failed = 0, []
    async for event in handle.fetch_history_events():
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            failure = event.workflow_task_failed_event_attributes
            if failure.cause in _SIGNALLED:
                repeated += 1
            else:
                failed.append(f"{WorkflowTaskFailedCause.Name(failure.cause)}: {failure.failure.message}")
        repeated += event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT
    info = (await handle.describe()).raw_description.workflow_execution_info
    return FloodOutcome(
        signals=count,
        megabytes=round(count * length / 1e6, 1),
        refused_by_server=refused,
        status=result.status,
        feedback=len(result.feedback),
        bounds=tuple(dict.fromkeys(note for note in result.notes if any(words in note for words in _BOUNDS))),
        seconds_to_send=round(times[0], 1),
        seconds_to_end=round(times[1], 1),
        events=info.history_length,
        history_megabytes=round(info.history_size_bytes / 1e6, 1),
        repeated_tasks=repeated,
        failed_tasks=tuple(failed),
    )


def measure(floods: Sequence[tuple[int, int]], home: Path) -> dict[str, Any]:
    """Return the outcomes of floods to one run after the other, and the largest memory of the worker.

    Args:
        floods: number of signals and characters of each.
        home: a new home.
    """
    with ModelServer() as model:
        model.on("outliner", {"topics": _TOPICS})
        around = environment(home) | model.environment
        client = (sys.executable, str(_ROOT / "client.py"))
        try:
            subprocess.run([*client, "up"], env=around, check=True, stdout=subprocess.DEVNULL)
            ingest = [*client, "corpus", "add", str(_ROOT / "docs"), "--corpus", "manual"]
            subprocess.run(ingest, env=around, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return asyncio.run(_measure(floods, model, int(around["TENURE_TEMPORAL_PORT"]), home))
        finally:
            subprocess.run([*client, "down"], env=around, check=True, stdout=subprocess.DEVNULL)


async def _measure(floods: Sequence[tuple[int, int]], model: ModelServer, port: int, home: Path) -> dict[str, Any]:
    client, memory = await connect(Settings(temporal_port=port)), _Memory(home)
    watching = asyncio.create_task(memory.watch())
    try:
        outcomes = [await _flood_run(client, model, count, length) for count, length in floods]
    finally:
        watching.cancel()
    return {"floods": [asdict(outcome) for outcome in outcomes], "worker_megabytes": memory.largest // 1_000_000}


async def _flood_run(client: Client, model: ModelServer, count: int, length: int) -> FloodOutcome:
    """Flood a new run while its report is written."""
    request = RunRequest(
        question="How does a run end?",
        corpora=("manual",),
        limits=RunLimits(min_relevance=0.0, max_report_revisions=1),
    )
    with model.hold(_ROLE):
        handle = await client.start_workflow(
            AgentWorkflow.run, request, id=f"benchmark-{uuid.uuid4().hex[:8]}", task_queue=TENURE_QUEUE
        )
        while _ROLE not in [call.schema_name for call in list(model.in_flight)]:  # noqa: ASYNC110 - of another thread
            await asyncio.sleep(0.05)
        began = time.perf_counter()
        refused = await flood(handle, count, length)
        sent = time.perf_counter()
    await handle.result()
    return await describe_outcome(handle, count, length, refused, (sent - began, time.perf_counter() - sent))


class _Memory:
    """Largest memory of the worker of a home."""

    def __init__(self, home: Path) -> None:
        worker = load(home).worker
        assert worker is not None, "the stack was started"
        self._worker = psutil.Process(worker.pid)
        self.largest = 0

    async def watch(self) -> None:
        """Look at the worker until the task is cancelled."""
        while True:
            self.largest = max(self.largest, self._worker.memory_info().rss)
            await asyncio.sleep(0.2)


def render_table(figures: dict[str, Any]) -> str:
    """Return the figures as lines, one column for each flood."""
    floods = figures["floods"]
    lines = [
        f"{name.replace('_', ' '):20}" + "".join(f"{flood[name]!s:>14}" for flood in floods)
        for name in floods[0]
        if name != "bounds"
    ]
    lines.append(f"{'worker megabytes':20}{figures['worker_megabytes']:>14}")
    lines += [f"- {note}" for flood in floods for note in flood["bounds"]]
    return "\n".join(lines)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability.signals", description=__doc__)
    parser.add_argument("--signals", type=int, default=10_000, metavar="N", help="short signals (default: 10,000)")
    parser.add_argument("--megabytes", type=int, default=20, metavar="N", help="size of the feedback (default: 20)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    chosen = parser.parse_args()
    large = chosen.megabytes * 1_000_000 // MAX_FEEDBACK_LENGTH
    floods = [(chosen.signals, SHORT_FEEDBACK_LENGTH), (large, MAX_FEEDBACK_LENGTH)]
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
        figures = measure([(count, length) for count, length in floods if count], Path(home))
    print(json.dumps(figures) if chosen.json else render_table(figures))


if __name__ == "__main__":
    main()
