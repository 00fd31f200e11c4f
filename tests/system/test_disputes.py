"""A dispute is searched for once, also if the worker is killed while the search is judged."""

import asyncio
import signal
import uuid
from collections import Counter
from pathlib import Path

from temporalio.testing import WorkflowEnvironment

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.report.render.markdown import render_markdown
from tests.model_server import ModelServer
from tests.support.tiers import slow
from tests.support.waiting import WAIT_SECONDS
from tests.system.test_durability import around, finished, worker_process
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

DOCUMENTS = {
    "guide": ("Storage Guide", "2015-03-01", "The database keeps deleted records for 30 days before they are purged."),
    "handbook": ("Handbook", "2015-03-01", "The database keeps deleted records for 7 days before they are purged."),
    "notice": (
        "Notice of the team",
        "2023-09-12",
        "Deleted records are kept for 7 days before the database purges them.",
    ),
}


def write_documents(folder: Path) -> Path:
    """Write documents that disagree, two of the same day and a later one, and return their folder."""
    documents = folder / "documents"
    documents.mkdir()
    for name, (title, date, text) in DOCUMENTS.items():
        head = f"---\ntitle: {title}\ndate: {date}\n---\n"
        (documents / f"{name}.md").write_text(f"{head}# {title}\n\n{text}\n", encoding="utf-8")
    return documents


@slow
async def test_a_killed_worker_searches_once_for_a_dispute(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A worker that is killed while a dispute is judged repeats that call alone; the report has one outcome."""
    with ModelServer() as model:
        environment = around(model, server.client, tmp_path)
        model.on("outliner", {"topics": [{"heading": "Retention", "question": "How long are deleted records kept?"}]})
        model.on("dispute_judge", {"passages": []})
        handle = await server.client.start_workflow(
            AgentWorkflow.run,
            RunRequest(
                question="How long does the database keep deleted records?",
                ingest=(IngestRequest(corpus="ops", paths=(str(write_documents(tmp_path)),)),),
                corpora=("ops",),
                limits=RunLimits(min_relevance=0.0, max_report_revisions=1, has_model=True, effort="complex"),
            ),
            id=f"drill-{uuid.uuid4().hex[:8]}",
            task_queue=TENURE_QUEUE,
        )
        async with worker_process(environment, tmp_path / "worker.log") as process:
            with model.hold("dispute_judge") as gate:
                assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS), "no dispute was judged"
                process.send_signal(signal.SIGKILL)
                await process.wait()
        async with worker_process(environment, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 120)
            scheduled, completed = await finished(server.client, handle.id)

    asked = Counter(request.schema_name for request in model.requests)
    (found,) = result.contradictions
    assert result.status == "done" and scheduled == completed
    assert asked["dispute_judge"] == 2 and completed["dispute_judge"] == completed["compare_sources"] == 1
    assert found.outcome is not None and found.outcome.status in ("resolved", "disputed")
    assert {found.a.quote, found.b.quote} <= {text for _, _, text in DOCUMENTS.values()}
    assert found.outcome.query and found.outcome.reason in render_markdown(result).replace("\\", "")
