"""Plans whose worker is killed between two steps: the results of finished steps are used and not made again."""

import asyncio
import signal
import uuid
from pathlib import Path

from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tests.model_server import ModelServer
from tests.support.report_answers import render_plan
from tests.support.tiers import slow
from tests.support.waiting import WAIT_SECONDS
from tests.support.worlds import plans, search
from tests.system.test_durability import around, finished, worker_process
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

RATIO = "How many times heavier is the sack of flour than the block of butter?"
PLAN = plans(
    search("Which sack has the baker bought?", id="a"),
    search("How heavy is that sack?", id="b", depends_on=["a"]),
    search("How heavy is the block of butter?", id="c"),
    {"action": "CALCULATE", "query": RATIO, "id": "d", "depends_on": ["b", "c"]},
)
PREPARED = {"query": "How heavy is the Zellhof sack?", "names": ["Zellhof"], "answered_by": 0}
CALCULATION = {
    "expression": "12 / 4",
    "operands": [
        {"label": "sack", "figure": "12 kg", "passage": 1},
        {"label": "butter", "figure": "4 kg", "passage": 1},
    ],
}


async def start_run(client: Client, folder: Path) -> WorkflowHandle[AgentWorkflow, Result]:
    """Start a run over one document with both figures."""
    documents = folder / "documents"
    documents.mkdir()
    text = "The baker has bought the Zellhof sack of flour, which weighs 12 kg. The block of butter weighs 4 kg."
    (documents / "weights.md").write_text(f"# Weights\n\n{text}\n")
    return await client.start_workflow(
        AgentWorkflow.run,
        RunRequest(
            question=RATIO,
            ingest=(IngestRequest(corpus="food", paths=(str(documents),)),),
            corpora=("food",),
            limits=RunLimits(
                min_relevance=0.0,
                effort="complex",
                max_cycles=1,
                max_report_revisions=0,
            ),
        ),
        id=f"plan-{uuid.uuid4().hex[:8]}",
        task_queue=TENURE_QUEUE,
    )


@slow
async def test_a_plan_continues_where_the_worker_was_killed(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Killed before a dependent search and before a calculation, the run executes every step once."""
    with ModelServer() as model:
        environment = around(model, server.client, tmp_path)
        model.on("planner", render_plan(PLAN))
        model.on("step_preparer", PREPARED)
        model.on("calculation_writer", CALCULATION)
        handle = await start_run(server.client, tmp_path)
        for moment in ("step_preparer", "calculation_writer"):
            async with worker_process(environment, tmp_path / "worker.log") as process:
                with model.hold(moment) as gate:
                    assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS), f"the run never reached {moment}"
                    process.send_signal(signal.SIGKILL)
                    await process.wait()
        async with worker_process(environment, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 120)
            progress = await handle.query(AgentWorkflow.progress)
            scheduled, completed = await finished(server.client, f"{handle.id}/spiral")

    assert result.status == "done"
    assert [(step.kind, step.status) for step in progress.steps] == [
        ("search", "completed"),
        ("search", "completed"),
        ("search", "completed"),
        ("calculate", "completed"),
    ]
    assert progress.steps[1].query == "How heavy is the Zellhof sack?"
    assert progress.steps[1].inserted == ("Zellhof (from “Weights”)",)
    assert scheduled == completed and completed["calculate"] == 1
    assert completed["step_preparer"] == completed["calculation_writer"] == 1
