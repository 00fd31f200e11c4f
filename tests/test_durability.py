"""Job security: a worker killed for real, at five moments of a run, costs nothing that was finished."""

import asyncio
import os
import signal
import sys
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.corpus import IngestRequest
from tenure.contracts.run import Limits, RunRequest
from tests.model_server import ModelServer
from workflows.agent import AgentWorkflow
from workflows.queues import TENURE_QUEUE

ROOT = Path(__file__).parents[1]
MOMENTS = ("router", "outliner", "section_writer", "report_reflector", "abstract_writer")
"""Roles during whose model call the worker is killed."""


@asynccontextmanager
async def worker_process(environment: dict[str, str], log: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `worker.py` as its own process and kill it at the end, if the test has not done so."""
    with log.open("ab") as sink:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "worker.py", cwd=ROOT, env=environment, stdout=sink, stderr=sink
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


async def finished(client: Client, run: str) -> tuple[Counter[str], Counter[str]]:
    """Return activities of a run and its children by name: scheduled and completed."""
    scheduled: Counter[str] = Counter()
    completed: Counter[str] = Counter()
    async for execution in client.list_workflows(f'WorkflowId STARTS_WITH "{run}"'):
        names: dict[int, str] = {}
        handle = client.get_workflow_handle(execution.id, run_id=execution.run_id)
        async for event in handle.fetch_history_events():
            if event.HasField("activity_task_scheduled_event_attributes"):
                names[event.event_id] = event.activity_task_scheduled_event_attributes.activity_type.name
                scheduled[names[event.event_id]] += 1
            elif event.HasField("activity_task_completed_event_attributes"):
                completed[names[event.activity_task_completed_event_attributes.scheduled_event_id]] += 1
    return scheduled, completed


async def in_flight(client: Client, run: str) -> Counter[str]:
    """Return activities of a run and its children that a worker has begun and not ended, by name."""
    begun: Counter[str] = Counter()
    async for execution in client.list_workflows(f'WorkflowId STARTS_WITH "{run}" AND ExecutionStatus = "Running"'):
        described = await client.get_workflow_handle(execution.id, run_id=execution.run_id).describe()
        begun.update(
            pending.activity_type.name
            for pending in described.raw_description.pending_activities
            if pending.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
        )
    return begun


@pytest.mark.timeout(300)
async def test_killing_the_worker_at_five_moments_loses_nothing(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """After five kill -9 the run ends with its report; each finished model call was made once."""
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "bread.md").write_text("# Bread\n\nBread is made from flour, water, salt and yeast.\n")
    (documents / "cheese.md").write_text("# Cheese\n\nCheese is made from milk that rennet has curdled.\n")
    with ModelServer() as model:
        topics = [{"heading": name, "question": f"How is {name} made?"} for name in ("Bread", "Cheese")]
        model.on("outliner", {"topics": topics})
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "OPENAI_"))},
            **model.environment,
            "TENURE_HOME": str(tmp_path / "home"),
            "TEMPORAL_ADDRESS": server.client.service_client.config.target_host,
        }
        handle = await server.client.start_workflow(
            AgentWorkflow.run,
            RunRequest(
                question="How are bread and cheese made?",
                ingest=(IngestRequest(corpus="food", paths=(str(documents),)),),
                corpora=("food",),
                limits=Limits(min_relevance=0.0, max_reflexions=1, max_revisions=1, parallel_sections=1),
            ),
            id=f"drill-{uuid.uuid4().hex[:8]}",
            task_queue=TENURE_QUEUE,
        )
        interrupted: Counter[str] = Counter()
        for moment in MOMENTS:
            async with worker_process(environment, tmp_path / "worker.log") as process:
                with model.hold(moment) as gate:
                    assert await asyncio.to_thread(gate.arrived.wait, 90), f"the run never reached {moment}"
                    process.send_signal(signal.SIGKILL)
                    await process.wait()
                    interrupted += await in_flight(server.client, handle.id)
        async with worker_process(environment, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 90)
            scheduled, completed = await finished(server.client, handle.id)

    asked = Counter(request.schema_name for request in model.requests if request.schema_name)
    roles = {name: count for name, count in completed.items() if name not in {"ingest", "search", "assemble"}}
    assert result.status == "done"
    assert scheduled == completed
    # Only a call in flight at a kill may be made again; the one whose answer was held back has to be.
    assert Counter(roles) + Counter(MOMENTS) <= asked <= Counter(roles) + interrupted
    assert result.usage.calls == sum(roles.values())
