"""Measure concurrent runs: `python -m benchmarks.load [--runs N] [--latency SECONDS] [--json]`.

The same question of effort simple is asked N times concurrently on the local stack of a new home, against a loopback
model server that answers after a fixed latency. Two runs before that are not counted: they warm the worker up. The
bound is the time that the model calls alone would take: that of all calls in the slots of the worker, or that of the
longest chain of calls of one run.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil
from temporalio.client import Client

from benchmarks.start import environment
from benchmarks.support.scripted_model import ScriptedModel
from tenure.settings import Settings
from tenure.site.messages import StartRequest
from tenure.site.service import Service, open_service
from tenure.temporal.stack import record as stack_record
from tenure.temporal.stack.record import StackRecord

_ROOT = Path(__file__).resolve().parents[1]
QUESTION: Final = "What is a checkpoint of a run?"
_CORPUS = "handbook"
_WARM_UP = 2
"""Runs that are not counted."""
_UNLIMITED = "100000"
"""Rate limit of model calls: the limit of the settings would be what is measured."""
_SETTLED_SECONDS = 60.0
"""Time that archives and other work after the last report may take."""


class Effort(NamedTuple):
    """Processor seconds of the processes of a stack."""

    worker: float
    server: float


def measure(runs: int, latency: float, home: Path) -> dict[str, Any]:
    """Make the given number of concurrent runs and return the figures.

    Raises:
        RuntimeError: a run did not end in a report.
    """
    with ScriptedModel(latency) as model:
        around = environment(home) | model.environment | {"TENURE_MODEL_CALLS_PER_SECOND": _UNLIMITED}
        os.environ.update(around)
        client = (sys.executable, str(_ROOT / "client.py"))
        try:
            ingest = [*client, "ingest", str(_ROOT / "docs"), "--corpus", _CORPUS]
            subprocess.run(ingest, env=around, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            model.begin(QUESTION, "simple")
            return asyncio.run(_measure(runs, latency, model))
        finally:
            subprocess.run([*client, "down"], env=around, check=True, stdout=subprocess.DEVNULL)


async def _measure(runs: int, latency: float, model: ScriptedModel) -> dict[str, Any]:
    settings = Settings()
    service = await open_service(settings)
    record = stack_record.load(settings.home)
    await _answer(service, _WARM_UP)
    client = await service.connect()
    await _settle(client)
    known, events, before = len(model.billed), await _count_events(client), _read_effort(record)
    began = time.time()
    chain = await _answer(service, runs)
    ended = time.time()
    await _settle(client)
    after, happened = _read_effort(record), await _count_events(client)
    calls = [entry.request.arrived for entry in model.billed[known:] if entry.schema_name]
    makespan, flying = ended - began, measure_union([(sent, sent + latency) for sent in calls])
    bound = max(len(calls) * latency / settings.model_concurrency, chain * latency)
    return {
        "runs": runs,
        "latency_s": latency,
        "calls": len(calls),
        "makespan_s": round(makespan, 2),
        "calls_per_second": round(len(calls) / makespan, 1),
        "makespan_over_bound": round(makespan / bound, 2),
        "wall_over_time_in_flight": round(makespan / flying, 3),
        "in_flight_mean": round(len(calls) * latency / makespan, 2),
        "workflows_per_run": round((happened[0] - events[0]) / runs, 1),
        "events_per_run": round((happened[1] - events[1]) / runs, 1),
        "events_per_call": round((happened[1] - events[1]) / len(calls), 1),
        "worker_ms_per_call": round((after.worker - before.worker) * 1000 / len(calls), 1),
        "server_ms_per_call": round((after.server - before.server) * 1000 / len(calls), 1),
        "worker_peak_mb": _read_peak(record.worker.pid if record.worker else 0),
        "server_peak_mb": _read_peak(record.server.pid if record.server else 0),
    }


async def _answer(service: Service, runs: int) -> int:
    """Ask the question in a number of concurrent runs; return the length of the longest chain of calls of a run.

    Raises:
        RuntimeError: a run did not end in a report.
    """
    request = StartRequest(question=QUESTION, corpora=(_CORPUS,), effort="simple", memory=False)
    started = await asyncio.gather(*(service.start(request) for _ in range(runs)))
    results = await asyncio.gather(*(service.wait(run.id, print) for run in started))
    if failed := [f"{result.id}: {result.status}" for result in results if result.status != "done"]:
        raise RuntimeError(f"not all runs ended in a report: {', '.join(failed)}")
    return max(result.usage.critical_path for result in results)


async def _settle(client: Client) -> None:
    """Wait until no workflow runs any more: reports are archived after their runs have ended."""
    async with asyncio.timeout(_SETTLED_SECONDS):
        while running := [found.id async for found in client.list_workflows("ExecutionStatus = 'Running'")]:
            await client.get_workflow_handle(running[0]).result()


async def _count_events(client: Client) -> tuple[int, int]:
    """Return the numbers of ended workflows and of their history events."""
    lengths = [found.history_length async for found in client.list_workflows("ExecutionStatus != 'Running'")]
    return len(lengths), sum(lengths)


def _read_effort(record: StackRecord) -> Effort:
    """Return the processor time of the worker and the server so far, with that of their child processes."""
    if record.worker is None or record.server is None:
        raise RuntimeError("the stack has no processes of its own: unset TEMPORAL_ADDRESS")
    return Effort(_read_seconds(record.worker.pid), _read_seconds(record.server.pid))


def _read_seconds(pid: int) -> float:
    process = psutil.Process(pid)
    times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def _read_peak(pid: int) -> int:
    """Return the largest resident memory of a process or one of its children, in megabytes."""
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    lines = [Path(f"/proc/{one.pid}/status").read_text().splitlines() for one in processes]
    return max(int(line.split()[1]) for status in lines for line in status if line.startswith("VmHWM")) // 1024


def measure_union(spans: Sequence[tuple[float, float]]) -> float:
    """Return the time that at least one of several spans covers."""
    covered, until = 0.0, float("-inf")
    for began, ended in sorted(spans):
        covered += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return covered


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--runs", type=int, default=48, metavar="N", help="concurrent runs (default: 48)")
    parser.add_argument("--latency", type=float, default=0.2, metavar="S", help="seconds of a call (default: 0.2)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
        figures = measure(arguments.runs, arguments.latency, Path(home))
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):28} {value:>10}")


if __name__ == "__main__":
    main()
