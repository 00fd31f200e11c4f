"""Measure how fast a stopped run disconnects: `python -m benchmarks.durability.cancel [--rounds N] [--json]`.

Runs are started against a loopback model server that delays the answers of their writers. They are stopped in turn by
signal, cancellation and termination, and the time is taken until the server has seen every connection closed. Server,
worker and settings are those of a local stack.
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
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

from benchmarks.start import environment
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.settings import Settings
from tenure.temporal.connection import connect
from tests.model_server import ModelServer
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

_ROOT = Path(__file__).resolve().parents[2]
_WAYS = ("signal", "cancel", "terminate")
_PATIENCE = 60.0
_STEP = 0.002


def measure(rounds: int, home: Path) -> dict[str, Any]:
    """Stop the given number of runs and return the figures in seconds."""
    with ModelServer() as model:
        around = environment(home) | model.environment
        client = (sys.executable, str(_ROOT / "client.py"))
        try:
            subprocess.run([*client, "up"], env=around, check=True, stdout=subprocess.DEVNULL)
            ingest = [*client, "corpus", "add", str(_ROOT / "docs"), "--corpus", "manual"]
            subprocess.run(ingest, env=around, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            taken = asyncio.run(_taken(rounds, model, int(around["TENURE_TEMPORAL_PORT"])))
        finally:
            subprocess.run([*client, "down"], env=around, check=True, stdout=subprocess.DEVNULL)
    seconds = [spent for _, spent in taken]
    return {
        "rounds": rounds,
        "p50_s": round(statistics.median(seconds), 2),
        "max_s": round(max(seconds), 2),
        **{f"{way}_max_s": round(max((s for named, s in taken if named == way), default=0.0), 2) for way in _WAYS},
    }


async def _taken(rounds: int, model: ModelServer, port: int) -> list[tuple[str, float]]:
    """Stop one run after the other; return how each was stopped and how long it took."""
    client = await connect(Settings(temporal_port=port))
    return [(way, await _stopped(client, model, way)) for way in islice(cycle(_WAYS), rounds)]


async def _stopped(client: Client, model: ModelServer, way: str) -> float:
    """Stop a run while its report is being written; return the seconds until all connections are closed."""
    request = RunRequest(question="How does a run end?", corpora=("manual",), limits=RunLimits(min_relevance=0.0))
    with model.hold("report_writer"):
        handle = await client.start_workflow(
            AgentWorkflow.run, request, id=f"benchmark-{uuid.uuid4().hex[:8]}", task_queue=TENURE_QUEUE
        )
        await _calls_in_flight(model, 1)
        began = time.perf_counter()
        await _stop(handle, way)
        await _calls_in_flight(model, 0)
        return time.perf_counter() - began


async def _stop(handle: WorkflowHandle[Any, Any], way: str) -> None:
    if way == "signal":
        await handle.signal("cancel")
    elif way == "cancel":
        await handle.cancel()
    else:
        await handle.terminate()


async def _calls_in_flight(model: ModelServer, wanted: int) -> None:
    """Wait until the given number of writers wait for their answers.

    Raises:
        TimeoutError: it takes too long for a meaningful measurement.
    """
    async with asyncio.timeout(_PATIENCE):
        while True:
            if [request.schema_name for request in list(model.in_flight)].count("report_writer") == wanted:
                return
            await asyncio.sleep(_STEP)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability.cancel", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="runs to stop (default: 20)")
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
