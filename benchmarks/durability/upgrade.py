"""Change the code under running work: `python -m benchmarks.durability.upgrade [--runs N] [--unversioned] [--json]`.

Runs are started under three successive versions of a copy of the source: the second one changes the order of a
workflow, the third one an algorithm that a workflow calls. Before each change, all runs so far wait for an answer of
the model server, so that they are under way during the upgrade. At the end, the workers of the two earlier versions
are killed with SIGKILL and started again by `up`, which replays every run. Then the model server answers.

Every run has to finish under the version that it began with, and no call of a model whose answer has arrived may be
repeated. With `--unversioned` the setting TENURE_WORKER_VERSIONING is off, and one worker runs the newest code.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from temporalio.client import Client, WorkflowHandle
from temporalio.common import SearchAttributeKey

from benchmarks.durability.source_copy import SourceCopy, change_algorithm, reorder_workflow
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.temporal.deployment import describe_deployment
from tenure.temporal.stack.record import load
from tests.model_server import ModelServer
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

_CASE: Final = re.compile(r"kitchen number (\d+)")

HELD_ROLE: Final = "report_writer"
"""Role whose calls wait during the upgrades; it is asked near the end of a run."""

LIMITS: Final = RunLimits(min_relevance=0.0, max_report_revisions=1)

_VERSION: Final = SearchAttributeKey.for_keyword("TemporalWorkerDeploymentVersion")
_WAIT_SECONDS: Final = 900.0
_DRAIN_SECONDS: Final = 300.0
_STUCK_SECONDS: Final = 60.0
"""Time after which a run without versioning counts as stuck."""


@dataclass(frozen=True)
class UpgradedRun:
    """Run of the benchmark."""

    case: str
    """Number of the run, which its question contains."""
    generation: int
    """Number of the version of the code under which it began."""
    version: str
    """Version that executed its last step."""
    result: Result | None
    """Result, or None if it did not finish."""


async def upgrade(folder: Path, model: ModelServer, runs: int, *, versioned: bool = True) -> list[UpgradedRun]:
    """Start runs under three versions of the code, release them, and return how they ended."""
    variables = {**model.environment, "TENURE_MODEL_CONCURRENCY": "64"}
    copy = SourceCopy(folder, variables | ({} if versioned else {"TENURE_WORKER_VERSIONING": "off"}))
    ingest = write_documents(folder)
    changes: Sequence[Callable[[SourceCopy], None]] = (lambda _: None, reorder_workflow, change_algorithm)
    started: list[tuple[str, int, WorkflowHandle[Any, Result]]] = []
    try:
        with model.hold(HELD_ROLE):
            for generation, change in enumerate(changes):
                change(copy)
                await asyncio.to_thread(copy.run, "up")
                client = await copy.connect()
                if not started:
                    await client.execute_workflow(
                        "IngestWorkflow", ingest, id="ingest-kitchen", task_queue=TENURE_QUEUE
                    )
                for number in range(generation * runs // 3, (generation + 1) * runs // 3):
                    started.append((str(number), generation + 1, await _start(client, number)))
                # Without versioning, the runs of the earlier code do not reach the model again.
                due = len(started) if versioned else sum(version == generation + 1 for _, version, _ in started)
                await _wait_for_calls(model, due)
            if versioned:
                await _restart_earlier_workers(copy, model, len(started))
        limit = _WAIT_SECONDS if versioned else _STUCK_SECONDS
        ended = await asyncio.gather(*(_wait_for_end(client, *one, limit) for one in started))
        if versioned:
            await _check_drained(copy, client)
        return ended
    finally:
        await asyncio.to_thread(copy.run, "down")


def write_documents(folder: Path) -> IngestRequest:
    """Write the documents of all runs, and return the request that reads them."""
    documents = folder / "documents"
    documents.mkdir()
    (documents / "bread.md").write_text("# Bread\n\nBread is made from flour, water, salt and yeast.\n")
    return IngestRequest(corpus="kitchen", paths=(str(documents),))


async def _start(client: Client, number: int) -> WorkflowHandle[Any, Result]:
    question = f"How is bread made in kitchen number {number}?"
    request = RunRequest(question=question, corpora=("kitchen",), limits=LIMITS)
    return await client.start_workflow(AgentWorkflow.run, request, id=f"upgrade-{number}", task_queue=TENURE_QUEUE)


async def _wait_for_calls(model: ModelServer, count: int) -> None:
    """Wait until calls of different runs wait at the model server."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while len(waiting := {find_case(call.json) for call in model.in_flight if call.schema_name == HELD_ROLE}) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(waiting)} of {count} runs reached {HELD_ROLE}")
        await asyncio.sleep(0.2)


async def _restart_earlier_workers(copy: SourceCopy, model: ModelServer, count: int) -> None:
    """Kill the workers of the earlier versions; `up` starts them again, and they repeat only the open calls."""
    earlier = load(copy.home).draining
    for worker in earlier:
        os.kill(worker.process.pid, signal.SIGKILL)
    await asyncio.to_thread(copy.run, "up")
    if not {worker.process for worker in load(copy.home).draining}.isdisjoint(worker.process for worker in earlier):
        raise RuntimeError("a killed worker was not started again")
    await _wait_for_calls(model, count)


async def _wait_for_end(
    client: Client, case: str, generation: int, handle: WorkflowHandle[Any, Result], seconds: float
) -> UpgradedRun:
    try:
        result = await asyncio.wait_for(handle.result(), seconds)
    except TimeoutError:
        result = None
    described = await client.get_workflow_handle(handle.id).describe()
    return UpgradedRun(case, generation, described.typed_search_attributes.get(_VERSION, ""), result)


async def wait_until_drained(copy: SourceCopy) -> None:
    """Wait until `up` stops the workers of the earlier versions.

    Raises:
        TimeoutError: they still run.
    """
    deadline = time.monotonic() + _DRAIN_SECONDS
    while load(copy.home).draining:
        if time.monotonic() > deadline:
            raise TimeoutError("the worker of a version without runs was not stopped")
        await asyncio.sleep(5)
        await asyncio.to_thread(copy.run, "up")


async def _check_drained(copy: SourceCopy, client: Client) -> None:
    """Check that the workers of the earlier versions end, and that the server knows three versions.

    Raises:
        RuntimeError: it knows other ones.
        TimeoutError: a worker still runs.
    """
    await wait_until_drained(copy)
    found = await describe_deployment(client)
    if found is None or len(found.version_summaries) != 3:
        raise RuntimeError("the server does not know three versions")


def find_case(request: Mapping[str, Any]) -> str:
    """Return the run to which a request belongs, since every prompt contains the question; empty for none."""
    found = _CASE.search(json.dumps(request.get("messages", "")))
    return found[1] if found else ""


def list_repeated_calls(model: ModelServer, run: UpgradedRun) -> list[str]:
    """Return the roles of a run that were asked the same question again although its answer had arrived."""
    answered = [entry for entry in model.billed if entry.delivered and find_case(entry.request.json) == run.case]
    asked = Counter((entry.schema_name, json.dumps(entry.request.json, sort_keys=True)) for entry in answered)
    return [role for (role, _), count in asked.items() for _ in range(count - 1)]


def count_answers(model: ModelServer, run: UpgradedRun) -> int:
    """Return the number of answers that arrived for a run."""
    return sum(entry.delivered and find_case(entry.request.json) == run.case for entry in model.billed)


def tabulate(model: ModelServer, ended: Sequence[UpgradedRun]) -> list[dict[str, object]]:
    """Return the figures of each version."""
    rows: list[dict[str, object]] = []
    for generation in (1, 2, 3):
        members = [run for run in ended if run.generation == generation]
        rows.append(
            {
                "version": generation,
                "runs": len(members),
                "finished": sum(run.result is not None for run in members),
                "build_ids": sorted({run.version for run in members}),
                "answers": sum(count_answers(model, run) for run in members),
                "answers_used": sum(run.result.usage.model_calls for run in members if run.result),
                "finished_calls_repeated": sum(len(list_repeated_calls(model, run)) for run in members),
            }
        )
    return rows


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.durability.upgrade", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, metavar="N", help="runs (default: 20)")
    parser.add_argument("--unversioned", action="store_true", help="without Worker Versioning")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tenure-upgrade-") as folder, ModelServer() as model:
        ended = asyncio.run(upgrade(Path(folder), model, arguments.runs, versioned=not arguments.unversioned))
        rows = tabulate(model, ended)
    figures = {"versions": rows, "seconds": round(time.monotonic() - began, 1)}
    if arguments.json:
        print(json.dumps(figures))
        return
    for row in rows:
        print("  ".join(f"{name.replace('_', ' ')} {value}" for name, value in row.items()))
    print(f"seconds {figures['seconds']}")


if __name__ == "__main__":
    main()
