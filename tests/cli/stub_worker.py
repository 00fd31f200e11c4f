"""Worker whose workflows have the real names and contracts, and behave as the question says.

The command line is tested against it: a real server, real processes, no model and no knowledge base.
"""

import asyncio
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal, cast

from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from tenure.contracts.base import RunId, SourceId
from tenure.contracts.choices import RunStatus
from tenure.contracts.evidence.corpora import (
    CacheStats,
    CorpusDocument,
    CorpusReply,
    CorpusRequest,
    CorpusStats,
    EmbedReport,
    IndexStats,
    IngestProgress,
    IngestReport,
    IngestRequest,
    QueryStats,
    StoredPassage,
    StoreStats,
    TableStats,
)
from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.knowledge.graph import (
    CO_OCCURRENCE,
    EntityRelation,
    RelatedReply,
    RelatedRequest,
)
from tenure.contracts.knowledge.memory import (
    ForgetReply,
    MemoriesReply,
    MemoriesRequest,
    Memory,
    MemoryReply,
    MemoryRequest,
    MemorySearchReply,
    ScoredMemory,
    WriteMemoryReply,
)
from tenure.contracts.research.fork import CycleCheckpoint, ForkOrigin, ForkRunRequest
from tenure.contracts.research.report import RunState
from tenure.contracts.research.spiral import ResearchRequest, SpiralState
from tenure.contracts.research.trace import RecordedResult, Story
from tenure.contracts.result.ask import AskReply, AskRequest, Exchange, Thread
from tenure.contracts.result.result import Result, ResultClaim, ResultSection, ResultStatus
from tenure.contracts.run.control import InputRequest, RunCommand
from tenure.contracts.run.role_calls import CallProgress
from tenure.contracts.run.run import Feedback, FeedbackRecord, RunProgress, RunRequest, TopicProgress, Usage
from tenure.settings import Settings
from tenure.temporal import connection

with workflow.unsafe.imports_passed_through():
    from datetime import timedelta

    from workflows.runtime.search_attributes import OWNER, PHASE, STATUS
    from workflows.runtime.task_queues import TENURE_QUEUE

STATS = CorpusStats(
    corpus="shelf", sources=2, chunks=7, characters=1234, embedding_model="stub", updated_at="2026-01-01T00:00:00Z"
)

DOCUMENT = CorpusDocument(
    source=SourceId("s1"), title="Rye", uri="/shelf/rye.md", published="", fetched_at="", chunks=7, characters=9000
)

STORE = StoreStats(
    tables=(
        TableStats(
            table="chunks_2",
            rows=1007,
            size=2_500_000,
            files=3,
            versions=4,
            indexes=(IndexStats(name="vector_idx", family="IvfRq", size=1_500_000, rows=1000, unindexed=7),),
        ),
    ),
    queries=(QueryStats(mode="hybrid", count=1200, mean_ms=6.25, p95_ms=9.5),),
    cache=CacheStats(hits=3, misses=1),
)


DRAFT = """# Rye rises for two hours [1]

Rye rises slowly <b>in a warm room</b> [2].

| Flour | Time of rising in a warm room | Time of rising in a cold room | Remarks on both |
|---|--:|--:|---|
| Rye | two hours [1] | unforeseeably-and-unbreakably-long-times [3] | ![a picture](https://example.org/x.png) |
"""
"""Beginning of a report that is never completed."""


@activity.defn
async def stumble() -> None:
    """Fail as a busy server does, again and again."""
    raise ApplicationError("the stub stumbled", next_retry_delay=timedelta(seconds=600))


@activity.defn(name="report_writer")
async def scribble() -> None:
    """Claim to have received a part of an answer, and never the rest."""
    activity.heartbeat(CallProgress(tokens=312, text=DRAFT))
    await asyncio.Event().wait()


@activity.defn(name="ingest_corpus")
async def ingest(request: IngestRequest) -> IngestReport:
    """Claim to have read every path, saying so in a heartbeat."""
    activity.heartbeat(
        IngestProgress(stage="reading", files_done=1, files_total=2, chunks=3, last_file=request.paths[0])
    )
    await asyncio.sleep(1.0)
    return IngestReport(corpus=request.corpus, files=len(request.paths), added=len(request.paths), chunks=3)


@activity.defn(name="embed_corpus")
async def embed(corpus: str) -> EmbedReport:
    """Claim to have computed a part of the vectors, and never the rest."""
    activity.heartbeat(IngestProgress(stage="embedding", embedded=1_200, to_embed=5_000))
    await asyncio.Event().wait()
    raise AssertionError("nothing sets the event")


@workflow.defn(name="EmbedWorkflow")
class StubEmbed:
    """Embeds without an end."""

    @workflow.run
    async def run(self, corpus: str) -> EmbedReport:
        return await workflow.execute_activity(
            embed, corpus, start_to_close_timeout=timedelta(minutes=5), heartbeat_timeout=timedelta(minutes=5)
        )


async def _ingest(request: IngestRequest) -> IngestReport:
    return await workflow.execute_activity(
        ingest, request, start_to_close_timeout=timedelta(seconds=30), retry_policy=RetryPolicy(maximum_attempts=1)
    )


@workflow.defn
class StubStep:
    """A child whose only step does not come to an end."""

    @workflow.run
    async def run(self, step: str) -> None:
        await workflow.execute_activity(step, start_to_close_timeout=timedelta(minutes=5))


async def _run_step(step: str) -> None:
    await workflow.execute_child_workflow(
        StubStep.run, step, id=f"{workflow.info().workflow_id}/step", static_summary="Bread"
    )


@workflow.defn(name="ResearchWorkflow")
class StubResearch:
    """Goes through two cycles that learn nothing."""

    @workflow.run
    async def run(self, request: ResearchRequest) -> None:
        run = workflow.get_external_workflow_handle(request.run)
        for cycle in (1, 2):
            await run.signal("record_cycle", CycleCheckpoint(state=SpiralState(cycle=cycle)))


async def _research(request: RunRequest) -> None:
    run = RunId(workflow.info().workflow_id)
    research = ResearchRequest(
        run=run,
        question=request.question,
        corpora=request.corpora,
        limits=request.limits,
        complexity="simple",
        evidence=(),
    )
    await workflow.execute_child_workflow(StubResearch.run, research, id=f"{run}/research")


def _taken_over(origin: ForkOrigin) -> str:
    said = ", ".join(word.text for word in origin.checkpoint.feedback)
    return f"from {origin.run}, cycle {origin.checkpoint.state.cycle}, told {said or 'nothing'}"


def _request_input(question: str) -> InputRequest | None:
    kind: Literal["plan", "clarification"] = "plan" if "approve" in question else "clarification"
    if "approve" not in question and "clarify" not in question:
        return None
    text = "Is this the right outline?" if kind == "plan" else "Which year is meant?"
    reporter = workflow.info().workflow_id
    return InputRequest(reporter=reporter, number=1, kind=kind, text=text, assumption="the latest", deadline="tomorrow")


@workflow.defn(name="AgentWorkflow")
class StubAgent:
    """Run that answers immediately; `wait` in the question waits for a signal, `fail` fails, `nothing` finds nothing.

    `clarify` asks a question and `approve` waits for the plan, until a person replies. `stumble` makes a child retry an
    activity forever, `embed` embeds in the background, `scribble` makes a child write forever, `break` fails every
    workflow task.
    """

    @workflow.init
    def __init__(self, request: RunRequest | ForkRunRequest) -> None:
        self.request = request
        self.status: RunStatus = "running"
        self.held = any(word in request.question for word in ("wait", "clarify", "approve"))
        self.input_request = _request_input(request.question)
        self.feedback_received: tuple[FeedbackRecord, ...] = ()
        self.told: tuple[RunCommand, ...] = ()

    @workflow.run
    async def run(self, request: RunRequest | ForkRunRequest) -> Result:
        origin = request.origin if isinstance(request, ForkRunRequest) else None
        if "cycles" in request.question and origin is None:
            await _research(request)
        if "read" in request.question:
            for one in request.ingest:
                await _ingest(one)
        if "embed" in request.question:
            # Ends with the run, other than the real one.
            await workflow.start_child_workflow(StubEmbed.run, "shelf", id=f"{workflow.info().workflow_id}/embed")
        if "stumble" in request.question:
            await _run_step("stumble")
        if "scribble" in request.question:
            await _run_step("report_writer")
        if "break" in request.question:
            raise RuntimeError("the stub is broken")
        await workflow.wait_condition(lambda: not self.held)
        if "fail" in request.question:
            raise ApplicationError("the stub was told to fail", non_retryable=True)
        if self.status in ("running", "paused"):
            self.status = "no_evidence" if "nothing" in request.question else "done"
        workflow.upsert_search_attributes([PHASE.value_set("done"), STATUS.value_set(self.status)])
        if owner := workflow.info().priority.fairness_key:
            workflow.upsert_search_attributes([OWNER.value_set(owner)])
        status = cast(ResultStatus, self.status)
        return RecordedResult(
            story=self.story(),
            id=RunId(workflow.info().workflow_id),
            mode="RESEARCH",
            question=request.question,
            title="A stub report",
            abstract="Nothing was read.",
            sections=(ResultSection(topic="Only topic", markdown="One sentence.", claims=()),),
            notes=(
                f"corpora: {', '.join(request.corpora)}",
                f"sections: {request.limits.max_sections}",
                *(word.model_dump_json(exclude_defaults=True) for word in self.told),
            ),
            feedback=self.feedback_received,
            decisions=(_taken_over(origin),) if origin else (),
            usage=Usage(),
            status=status,
        )

    @workflow.update
    def steer(self, steering: RunCommand) -> str:
        if steering.name == "feedback":
            self.feedback(Feedback(text=steering.text, topic=steering.topic))
        elif steering.name in ("budget", "outline", "approve", "answer"):
            self.told = (*self.told, steering)
            if steering.name in ("approve", "answer"):
                self.input_request, self.held = None, "wait" in self.request.question
        else:
            {"pause": self.pause, "resume": self.resume, "finish": self.finish, "cancel": self.cancel}[steering.name]()
        return f"The stub heard {steering.name}."

    @steer.validator
    def _check(self, steering: RunCommand) -> None:
        if steering.text == "nonsense":
            raise ApplicationError("the stub takes no nonsense")

    @workflow.signal
    def record_cycle(self, end: CycleCheckpoint) -> None: ...

    @workflow.signal
    def feedback(self, feedback: Feedback) -> None:
        at = workflow.now().isoformat()
        self.feedback_received += (FeedbackRecord(text=feedback.text, topic=feedback.topic, at=at),)

    @workflow.signal
    def pause(self) -> None:
        self.status = "paused"

    @workflow.signal
    def resume(self) -> None:
        self.status = "running"

    @workflow.signal
    def finish(self) -> None:
        self.status, self.held = "finished_early", False

    @workflow.signal
    def cancel(self) -> None:
        self.status, self.held = "cancelled", False

    @workflow.query
    def progress(self) -> RunProgress:
        return RunProgress(
            id=RunId(workflow.info().workflow_id),
            question=self.request.question,
            phase="write" if self.held else "done",
            status="waiting" if self.input_request and self.status == "running" else self.status,
            input_request=self.input_request,
            topics=(TopicProgress(topic="Only topic", phase="drafting", claims=1, sources=1, coverage=0.5),),
            feedback=self.feedback_received,
            last="the stub waits" if self.held else "",
        )

    @workflow.query
    def story(self) -> Story:
        return Story(mode="RESEARCH", feedback=self.feedback_received)

    @workflow.query
    def state(self) -> RunState:
        return RunState(progress=self.progress(), corpora=self.request.corpora, paused=self.status == "paused")


@workflow.defn(name="IngestWorkflow")
class StubIngest:
    """Reads nothing and says it did."""

    @workflow.run
    async def run(self, request: IngestRequest) -> IngestReport:
        return await _ingest(request)


def _find(request: SearchRequest) -> tuple[StoredPassage, ...]:
    """Return a passage that repeats the request, unless `nothing` is searched for."""
    if request.query == "nothing":
        return ()
    words = f"{request.query} in {', '.join(request.corpora)}, {request.mode}, at most {request.k}"
    return (StoredPassage(source=SourceId("s1"), title="Rye", uri="/shelf/rye.md", text=words),)


@workflow.defn(name="CorpusWorkflow")
class StubCorpus:
    """Knows one corpus."""

    @workflow.run
    async def run(self, request: CorpusRequest) -> CorpusReply:
        known = request.corpus in (None, STATS.corpus)
        if request.action == "drop":
            return CorpusReply(corpora=() if known else (STATS,), dropped=known)
        if request.search is not None:
            return CorpusReply(passages=_find(request.search))
        if request.range is not None:
            return CorpusReply(passages=_find(SearchRequest(query="rye", corpora=("shelf",), k=1)))
        if request.action == "documents" and known:
            return CorpusReply(corpora=(STATS,), documents=(DOCUMENT,), documents_total=1)
        return CorpusReply(corpora=(STATS,) if known else (), store=STORE if request.action == "stats" else None)


@workflow.defn(name="GraphWorkflow")
class StubGraph:
    """Relates one thing to another."""

    @workflow.run
    async def run(self, request: RelatedRequest) -> RelatedReply:
        if request.entity != "Ghent":
            return RelatedReply(entity=request.entity, similar_entities=("Ghent", "Bruges"))
        relation = EntityRelation(subject="Ghent", predicate=CO_OCCURRENCE, object="Bruges", count=3, passages=2)
        return RelatedReply(entity="Ghent", kind="name", passages=2, relations=(relation,))


MEMORY = Memory(
    id="m1",
    kind="semantic",
    text="Ghent lies on the [Scheldt].",
    created_at=datetime(2030, 1, 1, tzinfo=UTC),
    unconfirmed=True,
)


@workflow.defn(name="MemoryWorkflow")
class StubMemory:
    """Has two memories of `ann`; one comes to mind with Ghent."""

    @workflow.run
    async def run(self, request: MemoryRequest) -> MemoryReply:
        known = {
            "m1": MEMORY,
            "m2": MEMORY.model_copy(update={"id": "m2", "unconfirmed": False, "contradicted_by": "m3"}),
        }
        if (write := request.write) is not None:
            if write.replaces == "m9" or write.text == MEMORY.text:
                refused = WriteMemoryReply(problem="duplicate", memory=MEMORY)
                return MemoryReply(written=WriteMemoryReply(problem="unknown") if write.replaces else refused)
            made = {"text": write.text, "kind": write.kind or "long_term", "details": write.fact, "owner": write.owner}
            return MemoryReply(written=WriteMemoryReply(memory=MEMORY.model_copy(update=made)))
        if request.forget is not None:
            gone = len(known.keys() & set(request.forget.ids)) if request.forget.ids else 2
            return MemoryReply(forgotten=ForgetReply(forgotten=gone))
        if request.search is not None:
            there = request.search.owner == "ann" and "Ghent" in request.search.query
            one = ScoredMemory(memory=MEMORY, score=0.5, relevance=0.9)
            return MemoryReply(found=MemorySearchReply(memories=(one,) if there else ()))
        page = request.page or MemoriesRequest()
        mine = {id: one for id, one in known.items() if page.owner == "ann"}
        # A page holds one memory, however many are wanted.
        shown = tuple(one for id, one in mine.items() if id > page.after)[:1]
        return MemoryReply(page=MemoriesReply(memories=shown, total=len(mine)))


@workflow.defn(name="AskWorkflow")
class StubAsk:
    """Answers with what it was given; `nothing` finds nothing, `fail` fails."""

    @workflow.run
    async def run(self, request: AskRequest) -> AskReply:
        if "fail" in request.question:
            raise ApplicationError("the stub was told to fail", non_retryable=True)
        exchange = Exchange(question=request.question, standalone_question=request.question)
        return AskReply(
            run=request.run,
            question=request.question,
            standalone_question=f"{request.question} ({', '.join(request.corpora)})",
            status="no_evidence" if "nothing" in request.question else "answered",
            has_documents="change" not in request.question,
            claims=(ResultClaim(text=f"This is answer {len(request.thread.exchanges) + 1}.", status="supported"),),
            thread=Thread(exchanges=(*request.thread.exchanges, exchange)),
        )


async def main() -> None:
    """Serve until stopped."""
    client = await connection.connect(Settings())
    workflows = [
        StubAgent,
        StubStep,
        StubIngest,
        StubEmbed,
        StubCorpus,
        StubGraph,
        StubMemory,
        StubAsk,
        StubResearch,
    ]
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    restrictions = SandboxRestrictions.default.with_passthrough_modules("tenure")
    runner = SandboxedWorkflowRunner(restrictions=restrictions)
    activities: list[Callable[..., Any]] = [ingest, embed, stumble, scribble]
    async with Worker(
        client, task_queue=TENURE_QUEUE, workflows=workflows, activities=activities, workflow_runner=runner
    ):
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(main())
