"""Embedding in the background: started and shared by runs, paused and resumed."""

import asyncio
import threading
from collections.abc import Callable
from uuid import uuid4

import pytest
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle

from tenure.contracts.evidence.corpora import (
    EmbedReport,
    IngestProgress,
    IngestReport,
    IngestRequest,
    QuestionEmbedRequest,
)
from tenure.contracts.evidence.passages import SearchReply, SearchRequest
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.knowledge.store.errors import WorkCancelled
from tenure.models.errors import RequestRejected, TransportError
from tests.conftest import Serving
from tests.support.tiers import exhaustive
from tests.support.worlds import KITCHEN, MemoryKnowledge
from workflows.runtime.task_queues import TENURE_QUEUE
from workflows.upkeep.embed import EmbedWorkflow
from workflows.upkeep.knowledge import IngestWorkflow


class ColdKnowledge(MemoryKnowledge):
    """A knowledge base with vectors of less than half of its chunks; its embedding waits for a release."""

    def __init__(self) -> None:
        super().__init__(dict(KITCHEN))
        self.begun = threading.Semaphore(0)
        self.released = threading.Event()
        self.embeddings: list[str] = []
        self.questions: list[tuple[str, float, int]] = []

    def search(self, request: SearchRequest) -> SearchReply:
        return super().search(request).model_copy(update={"embedded_share": 0.429})

    def ingest(
        self, request: IngestRequest, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> IngestReport:
        return IngestReport(corpus=request.corpus, files=2, added=2, chunks=9, pending=9, seconds=1.0)

    def embed_for_question(
        self, request: QuestionEmbedRequest, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> EmbedReport:
        self.questions.append((request.question, request.seconds, len(self.searches)))
        return EmbedReport(corpus=request.corpus, chunks=4, embedded=4, pending=5)

    def embed(
        self, corpus: str, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> EmbedReport:
        self.embeddings.append(corpus)
        self.begun.release()
        while not self.released.wait(0.05):
            report(IngestProgress(stage="embedding", embedded=3, to_embed=9))
            if cancelled():
                raise WorkCancelled("stopped")
        return EmbedReport(corpus=corpus, chunks=9, embedded=8, seconds=2.0)

    async def embedding(self) -> None:
        """Wait until another embedding has started."""
        assert await asyncio.to_thread(self.begun.acquire, timeout=60)


def _request(corpus: str) -> RunRequest:
    return RunRequest(
        question="How are bread and cheese made?",
        ingest=(IngestRequest(corpus=corpus, paths=("/kitchen",)),),
        corpora=(corpus,),
        limits=RunLimits(min_relevance=0.05),
    )


def _background(client: Client, corpus: str) -> WorkflowHandle[EmbedWorkflow, EmbedReport]:
    return client.get_workflow_handle_for(EmbedWorkflow.run, f"embed-{corpus}")


@exhaustive
async def test_runs_share_one_embedding_without_waiting(serving: Serving) -> None:
    """Two runs over a cold corpus end with a report that names the share, while one embedding continues."""
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


async def test_first_search_waits_for_the_vectors_that_the_question_needs(serving: Serving) -> None:
    """They are computed between the reading and the first search, within half a minute for all corpora together."""
    knowledge = ColdKnowledge()
    request = _request(uuid4().hex[:8])
    other = IngestRequest(corpus=uuid4().hex[:8], paths=("/cellar",))
    async with serving(None, knowledge) as stage:
        await (await stage.start(request.model_copy(update={"ingest": (*request.ingest, other)}))).result()
        knowledge.released.set()

    assert knowledge.questions == [(request.question, 15.0, 0)] * 2


@pytest.mark.parametrize("error", [RequestRejected("the key expired"), TransportError("the server is away")])
async def test_run_continues_with_words_if_the_embedding_fails(serving: Serving, error: Exception) -> None:
    """A failed embedding costs a note with its reason."""

    class FailingKnowledge(ColdKnowledge):
        def embed_for_question(self, *arguments: object) -> EmbedReport:
            raise error

    knowledge, corpus = FailingKnowledge(), uuid4().hex[:8]
    async with serving(None, knowledge) as stage:
        result = await (await stage.start(_request(corpus))).result()
        knowledge.released.set()

    assert result.sections
    assert f"Not all passages of “{corpus}” that the question needs have vectors: {error}." in result.notes


async def test_paused_embedding_continues_after_the_resume(serving: Serving) -> None:
    """A pause stops the running activity and a resume restarts it; both can be repeated."""
    knowledge, corpus = ColdKnowledge(), uuid4().hex[:8]
    async with serving(None, knowledge) as stage:
        handle = await stage.client.start_workflow(
            EmbedWorkflow.run, corpus, id=f"embed-{corpus}", task_queue=TENURE_QUEUE
        )
        await knowledge.embedding()
        for signal in (EmbedWorkflow.pause, EmbedWorkflow.pause, EmbedWorkflow.resume, EmbedWorkflow.resume):
            await handle.signal(signal)
        await knowledge.embedding()
        knowledge.released.set()
        report = await handle.result()

    assert len(knowledge.embeddings) == 2
    assert report.chunks == 9


async def test_cancelled_embedding_ends_as_cancelled(serving: Serving) -> None:
    """A cancellation ends the activity and the workflow."""
    knowledge, corpus = ColdKnowledge(), uuid4().hex[:8]
    async with serving(None, knowledge) as stage:
        handle = await stage.client.start_workflow(
            EmbedWorkflow.run, corpus, id=f"embed-{corpus}", task_queue=TENURE_QUEUE
        )
        await knowledge.embedding()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        status = (await handle.describe()).status

    assert status == WorkflowExecutionStatus.CANCELED


async def test_ingestion_waits_for_all_vectors(serving: Serving) -> None:
    """A separate ingestion reads, then embeds, and its report counts both."""
    knowledge = ColdKnowledge()
    knowledge.released.set()
    request = IngestRequest(corpus="kitchen", paths=("/kitchen",))
    async with serving(None, knowledge) as stage:
        report: IngestReport = await stage.client.execute_workflow(
            IngestWorkflow.run, request, id=f"ingest-{uuid4().hex[:8]}", task_queue=TENURE_QUEUE
        )

    assert (report.pending, report.embedded, report.seconds) == (0, 8, 3.0)
