"""Measure concurrent runs: `python -m benchmarks.load [--runs N] [--latency SECONDS] [--workers N…] [--json]`.

The same question of effort simple is asked N times concurrently on the local stack of a new home, against a loopback
model server that answers after a fixed latency. Two runs before that are not counted: they warm the worker up. The
bound is the time that the model calls alone would take: that of all calls in the slots of the worker, or that of the
longest chain of calls of one run.

With `--workers`, the measurement is repeated in a new home for each number of workers: the worker of the stack, and
others that are started by hand with its version.
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
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import psutil
from temporalio.client import Client

from benchmarks.start import environment, run_worker
from benchmarks.support.columns import format_columns
from benchmarks.support.scripted_model import ScriptedModel
from tenure.runs.messages import StartRequest
from tenure.runs.service import Service, open_service
from tenure.settings import Settings
from tenure.temporal.stack import record as stack_record

_ROOT = Path(__file__).resolve().parents[1]
QUESTION: Final = "What is a checkpoint of a run?"
_CORPUS = "handbook"
_WARM_UP = 2
"""Runs that are not counted."""
_UNLIMITED = "100000"
"""Rate limit of model calls: the limit of the settings would be what is measured."""
_SETTLED_SECONDS = 300.0
"""Time that archives and other work after the last report may take."""


class Effort(NamedTuple):
    """Processor seconds of the processes of a stack."""

    workers: tuple[float, ...]
    server: float


def measure(runs: int, latency: float, home: Path, workers: int = 1) -> dict[str, Any]:
    """Make the given number of concurrent runs with a number of workers and return the figures.

    Raises:
        RuntimeError: a run did not end in a report.
    """
    with ScriptedModel(latency) as model:
        around = environment(home) | model.environment | {"TENURE_MODEL_CALLS_PER_SECOND": _UNLIMITED}
        client = (sys.executable, str(_ROOT / "client.py"))
        with ExitStack() as running:
            running.enter_context(patch.dict(os.environ, around, clear=True))
            running.callback(subprocess.run, [*client, "down"], env=around, check=True, stdout=subprocess.DEVNULL)
            ingest = [*client, "ingest", str(_ROOT / "docs"), "--corpus", _CORPUS]
            subprocess.run(ingest, env=around, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            model.begin(QUESTION, "simple")
            others = [running.enter_context(run_worker(around, "--versioned")) for _ in range(workers - 1)]
            return asyncio.run(_measure(runs, latency, model, others))


async def _measure(runs: int, latency: float, model: ScriptedModel, others: Sequence[int]) -> dict[str, Any]:
    """Measure the runs on the worker of the stack and on other workers, given their process ids."""
    settings = Settings()
    service = await open_service(settings)
    record = stack_record.load(settings.home)
    if record.worker is None or record.server is None:
        raise RuntimeError("the stack has no processes of its own: unset TEMPORAL_ADDRESS")
    workers, server = [record.worker.pid, *others], record.server.pid
    await _answer(service, _WARM_UP * len(workers))
    client = await service.connect()
    await settle(client)
    known, events, before = len(model.billed), await count_events(client), _read_effort(workers, server)
    began = time.time()
    chain = await _answer(service, runs)
    ended = time.time()
    await settle(client)
    after, happened = _read_effort(workers, server), await count_events(client)
    calls = [entry.request.arrived for entry in model.billed[known:] if entry.schema_name]
    used = [end - start for start, end in zip(before.workers, after.workers, strict=True)]
    makespan, flying = ended - began, measure_union([(sent, sent + latency) for sent in calls])
    bound = max(len(calls) * latency / (settings.model_concurrency * len(workers)), chain * latency)
    return {
        "runs": runs,
        "workers": len(workers),
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
        "worker_ms_per_call": round(sum(used) * 1000 / len(calls), 1),
        "busiest_worker_share": round(max(used) / sum(used), 2),
        "server_ms_per_call": round((after.server - before.server) * 1000 / len(calls), 1),
        "worker_peak_mb": max(map(_read_peak, workers)),
        "server_peak_mb": _read_peak(server),
    }


async def _answer(service: Service, runs: int) -> int:
    """Ask the question in a number of concurrent runs; return the length of the longest chain of calls of a run.

    Raises:
        RuntimeError: a run did not end in a report.
    """
    request = StartRequest(question=QUESTION, corpora=(_CORPUS,), effort="simple", memory=False)
    started = await asyncio.gather(*(service.start(request) for _ in range(runs)))
    results = await asyncio.gather(*(service.wait(run.id, partial(print, file=sys.stderr)) for run in started))
    if failed := [f"{result.id}: {result.status}" for result in results if result.status != "done"]:
        raise RuntimeError(f"not all runs ended in a report: {', '.join(failed)}")
    return max(result.usage.critical_path for result in results)


async def settle(client: Client) -> None:
    """Wait until no workflow runs any more: reports are archived after their runs have ended."""
    async with asyncio.timeout(_SETTLED_SECONDS):
        while running := [found.id async for found in client.list_workflows("ExecutionStatus = 'Running'")]:
            await client.get_workflow_handle(running[0]).result()


async def count_events(client: Client) -> tuple[int, int]:
    """Return the numbers of ended workflows and of their history events."""
    lengths = [found.history_length async for found in client.list_workflows("ExecutionStatus != 'Running'")]
    return len(lengths), sum(lengths)


def _read_effort(workers: Sequence[int], server: int) -> Effort:
    """Return the processor time of the workers and the server so far, with that of their child processes."""
    return Effort(tuple(map(read_seconds, workers)), read_seconds(server))


def read_seconds(pid: int) -> float:
    """Return the processor time of a process and its children so far."""
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
    parser.add_argument(
        "--workers", type=int, nargs="+", default=[1], metavar="N", help="workers of the home; several in turn"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document for each number of workers")
    arguments = parser.parse_args()
    figures: dict[str, dict[str, Any]] = {}
    for workers in arguments.workers:
        with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
            measured = measure(arguments.runs, arguments.latency, Path(home), workers)
        if arguments.json:
            print(json.dumps(measured), flush=True)
        figures[f"{workers} worker{'s' * (workers > 1)}"] = measured
    if not arguments.json:
        print(format_columns(figures))


if __name__ == "__main__":
    main()
