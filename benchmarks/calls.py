"""Measure the overhead of the model layer per call: `python -m benchmarks.calls [--rounds N] [--json]`.

One role is called repeatedly through the whole stack of a run (Temporal, loading passages, rendering, HTTP,
validation, accounting), with a loopback server that answers immediately. The baseline of the same run posts the same
requests to the same server directly; the difference is the overhead.
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
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
from temporalio.client import Client
from temporalio.worker import Worker

from benchmarks.start import environment
from benchmarks.support.role_rounds import Rounds, RoundsWorkflow
from tenure.settings import Settings
from tenure.temporal.connection import connect
from tests.model_server import ModelServer
from worker import choose_workflow_runner

_ROOT = Path(__file__).resolve().parents[1]
_QUESTION = "How does Tenure survive a crash of its worker?"
_UNLIMITED = "100000"  # the queue's rate limit is a setting; here it would be most of what is measured
_WARM_UP = 5
"""Rounds that are not counted: connections are opened, passages are read for the first time."""


def measure(rounds: int, home: Path) -> dict[str, float | int]:
    """Make the given number of calls and return the figures in milliseconds."""
    with ModelServer() as model:
        around = environment(home) | model.environment | {"TENURE_MODEL_CALLS_PER_SECOND": _UNLIMITED}
        client = (sys.executable, str(_ROOT / "client.py"))
        try:
            subprocess.run([*client, "up"], env=around, check=True, stdout=subprocess.DEVNULL)
            ingest = [*client, "ingest", str(_ROOT / "docs"), "--corpus", "manual"]
            subprocess.run(ingest, env=around, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            steps = asyncio.run(_steps(rounds + _WARM_UP, int(around["TENURE_TEMPORAL_PORT"])))
        finally:
            subprocess.run([*client, "down"], env=around, check=True, stdout=subprocess.DEVNULL)
        raw = _posted([request.json for request in model.requests if request.schema_name], model.base_url)
    steps, raw = steps[_WARM_UP:], raw[_WARM_UP:]
    return {
        "rounds": len(steps),
        "call_p50_ms": round(statistics.median(steps), 1),
        "call_p95_ms": round(_percentile(steps, 0.95), 1),
        "raw_p50_ms": round(statistics.median(raw), 1),
        "overhead_p50_ms": round(statistics.median(steps) - statistics.median(raw), 1),
        "overhead_p95_ms": round(_percentile(steps, 0.95) - _percentile(raw, 0.95), 1),
    }


async def _steps(rounds: int, port: int) -> list[float]:
    """Run the workflow; return the milliseconds from the scheduling of one call to that of the next."""
    client = await connect(Settings(temporal_port=port))
    queue = f"benchmark-{uuid.uuid4().hex[:8]}"
    async with Worker(client, task_queue=queue, workflows=[RoundsWorkflow], workflow_runner=choose_workflow_runner()):
        handle = await client.start_workflow(
            RoundsWorkflow.run,
            Rounds(question=_QUESTION, corpus="manual", count=rounds),
            id=queue,
            task_queue=queue,
        )
        passages = await handle.result()
    if not passages:
        raise RuntimeError("no passage was found: the calls would have been too small to mean anything")
    return await _between_calls(client, queue)


async def _between_calls(client: Client, workflow: str) -> list[float]:
    """Return the milliseconds from each call's scheduling to the next event of that kind, the run's end included."""
    moments = [
        event.event_time.ToNanoseconds() / 1e6
        async for event in client.get_workflow_handle(workflow).fetch_history_events()
        if event.HasField("workflow_execution_completed_event_attributes")
        or (
            event.HasField("activity_task_scheduled_event_attributes")
            and event.activity_task_scheduled_event_attributes.activity_type.name != "search_passages"
        )
    ]
    return [later - earlier for earlier, later in pairwise(moments)]


def _posted(requests: Sequence[Mapping[str, Any]], base_url: str) -> list[float]:
    """Post the same requests again with nothing around them; return the milliseconds of each."""
    times = []
    with httpx.Client(base_url=base_url) as http:
        for request in requests:
            began = time.perf_counter()
            http.post("/chat/completions", json=request).raise_for_status()
            times.append((time.perf_counter() - began) * 1000)
    return times


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="calls to measure (default: 100)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
        figures = measure(arguments.rounds, Path(home))
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name.replace('_', ' '):18} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
