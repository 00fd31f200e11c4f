"""BatchWorkflow: concurrent runs and their summary."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from temporalio.client import Client, WorkflowHandle

from tenure.contracts.base import RunId
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.result.batch import BatchItem, BatchOutcome, BatchReport, BatchRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.errors import RequestRejected
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from tests.support.worlds import KITCHEN, Held, MemoryKnowledge, Reply, ScriptedChat, story
from workflows.run.agent import AgentWorkflow
from workflows.run.batch import BatchWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

SHARED = RunRequest(
    question="?",
    corpora=("kitchen",),
    limits=RunLimits(min_relevance=0.05, max_sections=1, max_cycles=1, max_report_revisions=0),
)

ROUTE = {"mode": "RESEARCH", "complexity": "moderate", "query_type": "factual", "reason": "asked so"}


def asking(*questions: str, **others: Any) -> BatchRequest:
    """Return a batch of some questions."""
    items = tuple(BatchItem(key=f"{n}", question=question) for n, question in enumerate(questions, start=1))
    return BatchRequest(shared=SHARED, items=items, **others)


async def begin(client: Client, request: BatchRequest) -> WorkflowHandle[Any, BatchReport]:
    """Start a batch with a unique id."""
    return await client.start_workflow(
        BatchWorkflow.run, request, id=f"test-batch-{uuid4().hex[:8]}", task_queue=TENURE_QUEUE
    )


async def until(handle: WorkflowHandle[Any, BatchReport], true: Callable[[BatchReport], bool]) -> BatchReport:
    """Query the summary until it satisfies a condition."""
    return await wait_until("the summary", lambda: handle.query(BatchWorkflow.progress), true)


@slow
async def test_every_question_has_its_own_run(serving: Serving) -> None:
    """Each question ends in a report under an id of the batch, and the summary has its figures.

    Recordings among the documents cost at most what one run may.
    """
    request = asking("How is bread made?", "Quantum chromodynamics?", max_parallel=1)
    ingest = (IngestRequest(corpus="kitchen", paths=("/kitchen",)),)
    limits = SHARED.limits.model_copy(update={"max_cost_usd": 2.0})
    read = SHARED.model_copy(update={"ingest": ingest, "limits": limits})
    knowledge = MemoryKnowledge(KITCHEN)
    async with serving(None, knowledge) as stage:
        handle = await begin(stage.client, request.model_copy(update={"shared": read}))
        report = await handle.result()
        first: Result = await stage.client.get_workflow_handle(f"{handle.id}-1", result_type=Result).result()

    assert [(one.run, one.status) for one in report.outcomes] == [
        (f"{handle.id}-1", "done"),
        (f"{handle.id}-2", "no_evidence"),
    ]
    assert first.question == "How is bread made?" and report.outcomes[0].title == first.title
    assert not any("files" in note for note in first.notes)  # the documents were read once, before
    assert [request.max_transcription_usd for request in knowledge.ingested] == [2.0]


@slow
async def test_failed_question_does_not_stop_the_batch(serving: Serving) -> None:
    """A failed run is an entry with its reason; the others are answered with their own limits."""

    async def routed(prompt: str) -> Reply:
        if "chromodynamics" in prompt:
            raise RequestRejected("the key is not valid")
        return await whole["router"](prompt)

    whole = story()
    items = (
        BatchItem(key="bad", question="Quantum chromodynamics of bread?"),
        BatchItem(key="good", question="How are bread and cheese made?", max_searches=50),
    )
    async with serving(ScriptedChat(whole | {"router": routed}), MemoryKnowledge(KITCHEN)) as stage:
        handle = await begin(stage.client, BatchRequest(shared=SHARED, items=items, max_parallel=1))
        bad, good = (await handle.result()).outcomes
        answered: Result = await stage.client.get_workflow_handle(good.run, result_type=Result).result()

    assert (bad.status, good.status) == ("failed", "done")
    assert "the key is not valid" in bad.note
    assert good.tokens > 0 and answered.limits["searches"] == 50


async def test_batch_limits_parallel_runs_and_cancels_them(serving: Serving) -> None:
    """No more than the allowed number of runs is active; a cancelled batch lets these deliver and starts no other."""
    held = Held(ROUTE)
    async with serving(ScriptedChat(story(router=held)), MemoryKnowledge(KITCHEN)) as stage:
        handle = await begin(stage.client, asking(*["How are bread and cheese made?"] * 3, max_parallel=2))
        await until(handle, lambda report: [one.status for one in report.outcomes].count("running") == 2)
        await held.reached.wait()
        await handle.signal(BatchWorkflow.cancel)
        report = await handle.result()
        held.released.set()

    assert [one.status for one in report.outcomes] == ["cancelled", "cancelled", "waiting"]
    assert report.cancelled


async def test_earlier_outcomes_are_not_repeated(serving: Serving) -> None:
    """A continued batch keeps earlier outcomes, and an existing workflow id is a failure in the summary."""
    request = asking("How is bread made?", "How is cheese made?")
    known = BatchOutcome(key="1", run=RunId("elsewhere"), question="How is bread made?", status="done")
    held = Held(ROUTE)
    async with serving(ScriptedChat(story(router=held)), MemoryKnowledge(KITCHEN)) as stage:
        name = f"test-batch-{uuid4().hex[:8]}"
        taken = await stage.client.start_workflow(AgentWorkflow.run, SHARED, id=f"{name}-2", task_queue=TENURE_QUEUE)
        report = await stage.client.execute_workflow(
            BatchWorkflow.run,
            request.model_copy(update={"earlier_outcomes": (known,)}),
            id=name,
            task_queue=TENURE_QUEUE,
        )
        held.released.set()
        await taken.result()

    assert report.outcomes[0] == known
    assert report.outcomes[1].status == "failed" and "already" in report.outcomes[1].note
