"""Document roots, with a real server: workflows that another client starts."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ActivityError, ApplicationError

from activities.errors import PATH_REFUSED
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.tables import SqlRequest
from tenure.contracts.result.batch import BatchItem, BatchRequest
from tenure.contracts.run.run import RunRequest
from tenure.document_roots import DocumentRoots, add_document_roots
from tests.conftest import Serving
from tests.support.worlds import KITCHEN, MemoryKnowledge
from workflows.run.agent import AgentWorkflow
from workflows.run.batch import BatchWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE
from workflows.upkeep.knowledge import IngestWorkflow, SqlWorkflow


async def test_no_workflow_widens_the_roots(serving: Serving, tmp_path: Path) -> None:
    """Every workflow that ingests refuses a path that only its arguments name, and reads it once a command names it.

    The path stays closed to other corpora than the one that the command named it for.
    """
    docs = tmp_path / "docs"
    docs.mkdir()
    ingest = IngestRequest(corpus="kitchen", paths=(str(docs),))
    run = RunRequest(question="Why?", ingest=(ingest,), corpora=("kitchen",))
    batch = BatchRequest(shared=run, items=(BatchItem(key="1", question="Why?"),))
    async with serving(None, MemoryKnowledge(KITCHEN), roots=DocumentRoots(home=tmp_path)) as stage:
        started: tuple[tuple[Any, Any], ...] = (
            (IngestWorkflow.run, ingest),
            (SqlWorkflow.run, SqlRequest(sql="SELECT 1", ingest=(ingest,), corpora=("kitchen",))),
            (AgentWorkflow.run, run),
            (BatchWorkflow.run, batch),
        )
        for workflow, request in started:
            with pytest.raises(WorkflowFailureError) as caught:
                await stage.client.execute_workflow(
                    workflow,
                    request,
                    id=f"test-{uuid4().hex[:8]}",
                    task_queue=TENURE_QUEUE,
                )
            assert isinstance(caught.value.cause, ActivityError)
            refusal = caught.value.cause.cause
            assert isinstance(refusal, ApplicationError)
            assert refusal.type == PATH_REFUSED
            assert str(docs) in refusal.message

        add_document_roots(tmp_path, ["kitchen"], [docs])
        report = await stage.client.execute_workflow(
            IngestWorkflow.run, ingest, id=f"test-{uuid4().hex[:8]}", task_queue=TENURE_QUEUE
        )

        second = ingest.model_copy(update={"corpus": "other"})
        with pytest.raises(WorkflowFailureError):
            await stage.client.execute_workflow(
                IngestWorkflow.run, second, id=f"test-{uuid4().hex[:8]}", task_queue=TENURE_QUEUE
            )

    assert report.files == 2
