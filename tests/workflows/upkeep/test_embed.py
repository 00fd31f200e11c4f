"""Embedding in the background: begun by runs, shared by them, held and let go on."""

import asyncio
import threading
from collections.abc import Callable
from uuid import uuid4

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle

from tenure.contracts.evidence.corpora import EmbedReport, EmbedRequest, IngestProgress, IngestReport, IngestRequest
from tenure.contracts.evidence.passages import SearchReply, SearchRequest
from tenure.contracts.run.run import Limits, RunRequest
from tenure.knowledge.store.errors import EmbeddingCancelled
from tests.conftest import Serving, slow_form
from tests.worlds import KITCHEN, MemoryKnowledge
from workflows.runtime.task_queues import TENURE_QUEUE
from workflows.upkeep.embed import EmbedWorkflow
from workflows.upkeep.ingest import IngestWorkflow


class ColdKnowledge(MemoryKnowledge):
    """A knowledge base of which less than half has vectors; embedding lasts until it is released or told to stop."""

    def __init__(self) -> None:
        super().__init__(dict(KITCHEN))
        self.begun = threading.Semaphore(0)
        self.released = threading.Event()
        self.embeddings: list[str] = []

    def search(self, request: SearchRequest) -> SearchReply:
        return super().search(request).model_copy(update={"embedded_share": 0.429})

    def ingest(
        self, request: IngestRequest, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> IngestReport:
        return IngestReport(corpus=request.corpus, files=2, added=2, chunks=9, pending=9, seconds=1.0)

    def embed(
        self, request: EmbedRequest, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> EmbedReport:
        self.embeddings.append(request.corpus)
        self.begun.release()
        while not self.released.wait(0.05):
            report(IngestProgress(stage="embedding", embedded=3, to_embed=9))
            if cancelled():
                raise EmbeddingCancelled(request.corpus, 3, 9)
        return EmbedReport(corpus=request.corpus, chunks=9, embedded=8, seconds=2.0)

    async def embedding(self) -> None:
        """Wait until another embedding has begun."""
        assert await asyncio.to_thread(self.begun.acquire, timeout=60)


def _request(corpus: str) -> RunRequest:
    return RunRequest(
        question="How are bread and cheese made?",
        ingest=(IngestRequest(corpus=corpus, paths=("/kitchen",)),),
        corpora=(corpus,),
        limits=Limits(min_relevance=0.05),
    )


def _background(client: Client, corpus: str) -> WorkflowHandle[EmbedWorkflow, EmbedReport]:
    return client.get_workflow_handle_for(EmbedWorkflow.run, f"embed-{corpus}")


@slow_form
async def test_runs_share_one_embedding_and_do_not_wait_for_it(serving: Serving) -> None:
    """Two runs over a cold corpus end with a report that tells the share, while one embedding goes on behind them."""
    knowledge, corpus = ColdKnowledge(), uuid4().hex[:8]
    async with serving(None, knowledge) as stage:
        runs = [await stage.start(_request(corpus)) for _ in range(2)]
        results = [await run.result() for run in runs]
        await knowledge.embedding()
        behind = _background(stage.client, corpus)
        during = (await behind.describe()).status
        knowledge.released.set()
        report = await behind.result()

    assert during == WorkflowExecutionStatus.RUNNING
    assert knowledge.embeddings == [corpus]
    assert report.chunks == 9
    assert all(result.sections and result.usage.embedded_share == 0.429 for result in results)
    assert all("Only 42 % of the passages had vectors" in " ".join(result.notes) for result in results)


async def test_a_held_embedding_goes_on_where_it_was(serving: Serving) -> None:
    """A pause stops the work under way, a resume has it done; both can be said again without harm."""
    knowledge, corpus = ColdKnowledge(), uuid4().hex[:8]
    async with serving(None, knowledge) as stage:
        handle = await stage.client.start_workflow(
            EmbedWorkflow.run, EmbedRequest(corpus=corpus), id=f"embed-{corpus}", task_queue=TENURE_QUEUE
        )
        await knowledge.embedding()
        for signal in (EmbedWorkflow.pause, EmbedWorkflow.pause, EmbedWorkflow.resume, EmbedWorkflow.resume):
            await handle.signal(signal)
        await knowledge.embedding()
        knowledge.released.set()
        report = await handle.result()

    assert len(knowledge.embeddings) == 2
    assert report.chunks == 9


async def test_a_cancelled_embedding_ends_as_cancelled(serving: Serving) -> None:
    """A person who cancels it ends the work and the workflow."""
    knowledge, corpus = ColdKnowledge(), uuid4().hex[:8]
    async with serving(None, knowledge) as stage:
        handle = await stage.client.start_workflow(
            EmbedWorkflow.run, EmbedRequest(corpus=corpus), id=f"embed-{corpus}", task_queue=TENURE_QUEUE
        )
        await knowledge.embedding()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        status = (await handle.describe()).status

    assert status == WorkflowExecutionStatus.CANCELED


async def test_whoever_waits_for_an_ingestion_waits_for_all_vectors(serving: Serving) -> None:
    """An ingestion by itself reads, then embeds, and its report counts both."""
    knowledge = ColdKnowledge()
    knowledge.released.set()
    request = IngestRequest(corpus="kitchen", paths=("/kitchen",))
    async with serving(None, knowledge) as stage:
        report: IngestReport = await stage.client.execute_workflow(
            IngestWorkflow.run, request, id=f"ingest-{uuid4().hex[:8]}", task_queue=TENURE_QUEUE
        )

    assert (report.pending, report.embedded, report.seconds) == (0, 8, 3.0)
