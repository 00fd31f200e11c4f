"""Measure one worker under many runs: `python -m benchmarks.durability.many_runs [--runs N] [--delay S] [--short]`.

The local stack of a new home serves runs that are all started at the same time, against a loopback model server that
takes a moment for every answer. The figures are the finished runs, the answers that were paid and not used (repeated
calls), the wall time, and the highest memory of the worker's process.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.start import environment
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.settings import Settings
from tenure.temporal.connection import connect
from tenure.temporal.stack import local
from tests.model_server import Fault, ModelServer, RandomFaults
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

_ROOT = Path(__file__).resolve().parents[2]
_CORPUS = "kitchen"
_DOCUMENTS = {
    "bread.md": "# Bread\n\nBread is made from flour, water, salt and yeast.\n",
    "cheese.md": "# Cheese\n\nCheese is made from milk that rennet has curdled.\n",
}
_LIMITS = RunLimits(min_relevance=0.0, max_report_revisions=0)
_SHORT = _LIMITS.model_copy(update={"effort": "simple", "max_cycles": 1, "subagents": 1, "max_sections": 1})
_SAMPLE_SECONDS = 0.25
_MIB = 1024 * 1024


@dataclass
class Memory:
    """Memory of a process and its children while it was observed, in bytes."""

    worker: int = 0
    """Highest resident memory of the process."""
    with_children: int = 0
    """Highest resident memory of the process and its children together."""


@contextmanager
def observe_memory(pid: int) -> Iterator[Memory]:
    """Sample the memory of a process until the block ends."""
    memory, ended, process = Memory(), threading.Event(), psutil.Process(pid)

    def sample() -> None:
        while not ended.wait(_SAMPLE_SECONDS):
            try:
                own = process.memory_info().rss
                children = sum(child.memory_info().rss for child in process.children(recursive=True))
            except psutil.NoSuchProcess:
                continue
            memory.worker = max(memory.worker, own)
            memory.with_children = max(memory.with_children, own + children)

    thread = threading.Thread(target=sample, name="memory")
    thread.start()
    try:
        yield memory
    finally:
        ended.set()
        thread.join()


def measure(runs: int, delay: float, home: Path, limits: RunLimits = _LIMITS) -> dict[str, float | int]:
    """Start all runs together on a new stack, wait for their reports, and return the figures."""
    documents = home.parent / "documents"
    documents.mkdir()
    for name, text in _DOCUMENTS.items():
        (documents / name).write_text(text, encoding="utf-8")
    client = (sys.executable, str(_ROOT / "client.py"))
    slow = RandomFaults(1, 1.0, kinds=(Fault(delay=delay),))
    with ModelServer(random_faults=slow) as model:
        around = environment(home) | model.environment
        port = int(around["TENURE_TEMPORAL_PORT"])
        settings = Settings(
            home=home, temporal_port=port, ui_port=int(around["TENURE_UI_PORT"]), openai_base_url=model.base_url
        )
        try:
            subprocess.run([*client, "up"], env=around, check=True, stdout=subprocess.DEVNULL)
            ingest = [*client, "corpus", "add", str(documents), "--corpus", _CORPUS]
            subprocess.run(ingest, env=around, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            pid = local.get_status(settings).worker_pid
            if pid is None:
                raise RuntimeError("the worker has ended")
            idle = psutil.Process(pid).memory_info().rss
            began = time.perf_counter()
            with observe_memory(pid) as memory:
                results = asyncio.run(_run_all(settings, runs, limits))
            seconds = time.perf_counter() - began
            survived = local.get_status(settings).worker_pid == pid
        finally:
            subprocess.run([*client, "down"], env=around, check=True, stdout=subprocess.DEVNULL)
        answered = sum(entry.delivered for entry in model.billed)
    states = Counter(result.status for result in results)
    used = sum(result.usage.model_calls for result in results)
    return {
        "runs": runs,
        "finished": states["done"],
        "with_report": sum(bool(result.title and result.sections) for result in results),
        "same_worker": int(survived),
        "model_calls": used,
        "repeated_calls": answered - used,
        "seconds": round(seconds, 1),
        "calls_per_second": round(used / seconds, 1),
        "worker_idle_mib": round(idle / _MIB),
        "worker_peak_mib": round(memory.worker / _MIB),
        "with_children_peak_mib": round(memory.with_children / _MIB),
    }


async def _run_all(settings: Settings, runs: int, limits: RunLimits) -> list[Result]:
    """Start all runs, then wait for all of them."""
    client = await connect(settings)
    name = uuid.uuid4().hex[:8]
    handles = await asyncio.gather(
        *(
            client.start_workflow(
                AgentWorkflow.run,
                RunRequest(
                    question=f"How are bread and cheese made in kitchen number {number}?",
                    corpora=(_CORPUS,),
                    limits=limits,
                ),
                id=f"many-{name}-{number}",
                task_queue=TENURE_QUEUE,
            )
            for number in range(runs)
        )
    )
    return await asyncio.gather(*(handle.result() for handle in handles))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability.many_runs", description=__doc__)
    parser.add_argument("--runs", type=int, default=200, metavar="N", help="concurrent runs (default: 200)")
    parser.add_argument("--delay", type=float, default=0.2, metavar="S", help="seconds per answer (default: 0.2)")
    parser.add_argument("--short", action="store_true", help="one section and one cycle of research for each run")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as folder:
        figures = measure(
            arguments.runs, arguments.delay, Path(folder) / "home", _SHORT if arguments.short else _LIMITS
        )
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name.replace('_', ' '):24} {value}" for name, value in figures.items()))


if __name__ == "__main__":
    main()
