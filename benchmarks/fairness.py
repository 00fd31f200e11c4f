"""Measure how long work waits for other work: `python -m benchmarks.fairness [--json] [--crowd N] [--ingestions N…]`.

One owner starts many workflows of one activity each; when all of these activities wait for the only slot of the only
worker, another owner starts one. The figure is the number of activities of the first owner that start before it. It is
taken four times on a separate development server: without options, with a higher priority, with fairness keys on a
server without fairness, and with fairness keys on a server with fairness.

With `--ingestions`, the figures are the times of searches on the local stack of a new home: first on the idle stack,
then during each of these numbers of large ingestions, and the ratio of the two.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import Priority
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from benchmarks.start import environment
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import SearchBatchReply, SearchReply, SearchRequest
from tenure.settings import Settings
from tenure.temporal.connection import connect
from tests.support.servers.temporal_server import run_temporal_server
from workflows.runtime.activity_options import ACTIVITY_OPTIONS
from workflows.runtime.task_queues import TENURE_QUEUE
from workflows.upkeep.knowledge import IngestWorkflow

_ROOT = Path(__file__).resolve().parents[1]
_CORPUS = "manual"
_SEARCHES = 60
"""Searches of each measure."""
_MAX_SECONDS = 60.0
"""Time of the searches of each measure."""
_COPIES = 12
"""Copies of the manual that one ingestion reads, each with different words, so that no vector is known."""
_QUERIES = (
    "How does a run survive a crash of its worker?",
    "Which settings limit the number of sections?",
    "How are quotes of a report checked?",
    "What does a sandboxed program see of the machine?",
)

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


async def _all_asked_for(handles: Sequence[WorkflowHandle[Any, Any]]) -> None:
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
        async with run_temporal_server(options) as server:
            figures[name] = await waited(server.client, crowd, theirs, ours)
    return figures


@workflow.defn
class OneSearch:
    """One search, as a run makes it."""

    @workflow.run
    async def run(self, request: SearchRequest) -> int:
        """Return the number of passages."""
        options = ACTIVITY_OPTIONS["search_passages"]
        batch = (request,)
        reply = await workflow.execute_activity("search_passages", batch, result_type=SearchBatchReply, **options)
        return sum(len(found.passages) for found in reply.replies if isinstance(found, SearchReply))


def measure_searches(ingestions: Sequence[int], home: Path) -> dict[str, float]:
    """Return the times of searches in milliseconds, idle and during each number of ingestions, and their ratios."""
    documents = home.parent / "documents"
    folders = [_write_copies(documents / str(number), number) for number in range(sum(ingestions))]
    around = environment(home) | {"TENURE_DOCUMENT_ROOTS": str(documents)}
    settings = Settings(home=home, temporal_port=int(around["TENURE_TEMPORAL_PORT"]))
    client = (sys.executable, str(_ROOT / "client.py"))
    try:
        subprocess.run([*client, "up"], env=around, check=True, stdout=subprocess.DEVNULL)
        ingest = [*client, "corpus", "add", str(_ROOT / "docs"), "--corpus", _CORPUS]
        subprocess.run(ingest, env=around, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return asyncio.run(_measure_searches(settings, ingestions, folders))
    finally:
        subprocess.run([*client, "down"], env=around, check=True, stdout=subprocess.DEVNULL)


def _write_copies(folder: Path, number: int) -> Path:
    """Write copies of the manual whose sentences differ from those of all other copies."""
    folder.mkdir(parents=True)
    for copy in range(_COPIES):
        for path in sorted((_ROOT / "docs").glob("*.md")):
            text = path.read_text(encoding="utf-8").replace(". ", f", in volume {number} of edition {copy}. ")
            (folder / f"{copy}-{path.name}").write_text(text, encoding="utf-8")
    return folder


async def _measure_searches(settings: Settings, ingestions: Sequence[int], folders: list[Path]) -> dict[str, float]:
    """Search idle and during ingestions, which are cancelled afterwards."""
    client = await connect(settings)
    figures: dict[str, float] = {}
    async with Worker(
        client, task_queue=_WORKFLOWS, workflows=[OneSearch], workflow_runner=UnsandboxedWorkflowRunner()
    ):
        await _search_repeatedly(client, len(_QUERIES))
        idle = await _search_repeatedly(client, _SEARCHES)
        figures |= _summarize("idle", idle, idle)
        for count in ingestions:
            requests = [
                IngestRequest(corpus=f"bulk-{folders[-1].name}", paths=(str(folders.pop()),)) for _ in range(count)
            ]
            running = [
                await client.start_workflow(
                    IngestWorkflow.run, request, id=f"ingest-{request.corpus}", task_queue=TENURE_QUEUE
                )
                for request in requests
            ]
            await _all_asked_for(running)
            busy = await _search_repeatedly(client, _SEARCHES)
            figures |= _summarize(f"during_{count}", busy, idle)
            figures[f"during_{count}_searches"] = len(busy)
            figures[f"during_{count}_still_running"] = sum(
                [(await handle.describe()).status == WorkflowExecutionStatus.RUNNING for handle in running]
            )
            for handle in running:
                await handle.terminate()
    return figures


async def _search_repeatedly(client: Client, count: int) -> list[float]:
    """Search one after the other; return the milliseconds of each search, the last one as far as the time went."""
    times: list[float] = []
    ends = time.perf_counter() + _MAX_SECONDS
    for number in range(count):
        began = time.perf_counter()
        request = SearchRequest(query=f"{_QUERIES[number % len(_QUERIES)]} ({number})", corpora=(_CORPUS,))
        try:
            async with asyncio.timeout(max(0.0, ends - began)):
                found = await client.execute_workflow(
                    OneSearch.run, request, id=uuid.uuid4().hex, task_queue=_WORKFLOWS
                )
        except TimeoutError:
            return [*times, (time.perf_counter() - began) * 1000]
        if not found:
            raise RuntimeError("no passage was found: the searches would be too easy to mean anything")
        times.append((time.perf_counter() - began) * 1000)
    return times


def _summarize(name: str, times: Sequence[float], idle: Sequence[float]) -> dict[str, float]:
    """Return median and 95th percentile of times, and the ratios to the idle ones."""
    middle, late = statistics.median(times), _percentile(times)
    ratios = {
        f"{name}_p50_ratio": round(middle / statistics.median(idle), 2),
        f"{name}_p95_ratio": round(late / _percentile(idle), 2),
    }
    return {f"{name}_p50_ms": round(middle, 1), f"{name}_p95_ms": round(late, 1), **({} if times is idle else ratios)}


def _percentile(times: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return sorted(times)[min(int(len(times) * 0.95), len(times) - 1)]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fairness", description=__doc__)
    parser.add_argument("--crowd", type=int, default=_CROWD, metavar="N", help=f"default: {_CROWD}")
    parser.add_argument("--ingestions", type=int, nargs="+", metavar="N", help="measure searches during ingestions")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    if arguments.ingestions:
        with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as folder:
            times = measure_searches(arguments.ingestions, Path(folder) / "home")
        print(json.dumps(times) if arguments.json else "\n".join(f"{name:24} {value}" for name, value in times.items()))
        return
    figures = asyncio.run(measure(arguments.crowd))
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name:20} {number:5} of {arguments.crowd} begin first" for name, number in figures.items()))


if __name__ == "__main__":
    main()
