"""Owners on a real server, with clients that send whatever they like."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    Schedule,
    ScheduleActionExecutionStartWorkflow,
    ScheduleActionStartWorkflow,
    ScheduleHandle,
    ScheduleSpec,
    ScheduleState,
    ScheduleUpdate,
    StartWorkflowInput,
    WorkflowFailureError,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
)
from temporalio.exceptions import ApplicationError, FailureError
from temporalio.testing import WorkflowEnvironment

from activities import ownership
from activities.ownership import OWNER_REFUSED, UNPROVED, OwnerActivities, Owners
from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.corpora import CorpusReply, CorpusRequest, EmbedRequest, IngestRequest
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.tables import SqlRequest
from tenure.contracts.knowledge.graph import RelatedRequest, RelateRequest
from tenure.contracts.knowledge.memory import (
    ForgetRequest,
    MemoriesRequest,
    MemoryRequest,
    MemorySearchRequest,
    WriteMemoryRequest,
)
from tenure.contracts.result.ask import AskRequest, Exchange, Thread
from tenure.contracts.result.batch import BatchItem, BatchReport, BatchRequest
from tenure.contracts.run.control import RunCommand
from tenure.contracts.run.notifications import Notification
from tenure.contracts.run.run import ControlState, Feedback, RunProgress, RunRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.ownership import HEADER, Operation, Proof, compute_digest, qualify_name, sign_operation
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.owner_client import OwnerClientInterceptor
from tests.conftest import Serving
from tests.knowledge.word_vectors import WordVectors
from tests.support.tiers import slow
from tests.support.workers import PatientWorker
from tests.support.worlds import KITCHEN, Held, MemoryKnowledge, ScriptedChat, build_report, story
from tests.workflows.run.test_agent import REQUEST, until
from workflows.plugin import create_plugin
from workflows.run.agent import AgentWorkflow
from workflows.run.ask import AskWorkflow
from workflows.run.batch import BatchWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE
from workflows.upkeep.corpus import CorpusWorkflow
from workflows.upkeep.embed import EmbedWorkflow
from workflows.upkeep.graph import GraphWorkflow
from workflows.upkeep.ingest import IngestWorkflow
from workflows.upkeep.memory import MemoryWorkflow
from workflows.upkeep.notify import NotifyWorkflow
from workflows.upkeep.relate import RelateWorkflow
from workflows.upkeep.sql import SqlWorkflow

TOKENS = {"ann": "a" * 32, "bob": "b" * 32}
OWNERS = Owners(TOKENS, databases=("sales",))
QUERIES = ("progress", "state", "__stack_trace", "__temporal_workflow_metadata", "__enhanced_stack_trace")
NOW = datetime(2030, 1, 1, tzinfo=UTC)
PASSAGE = PassageRef(chunk=ChunkId("bread:0"), source=SourceId("bread"), score=1.0, relevance=1.0)
ANNS = REQUEST.model_copy(update={"corpora": ("ann~kitchen",)})


@dataclass
class Copied(Interceptor):
    """Interceptor of a thief: it sends headers that were read elsewhere."""

    headers: dict[str, Payload]

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        copied = self

        class Outbound(OutboundInterceptor):
            async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:
                input.headers = copied.headers
                return await super().start_workflow(input)

            async def signal_workflow(self, input: Any) -> None:
                input.headers = copied.headers
                await super().signal_workflow(input)

            async def start_workflow_update(self, input: Any) -> Any:
                input.headers = copied.headers
                return await super().start_workflow_update(input)

            async def query_workflow(self, input: Any) -> Any:
                input.headers = copied.headers
                return await super().query_workflow(input)

        return Outbound(next)


def connect(server: WorkflowEnvironment, *interceptors: Interceptor) -> Client:
    """Return a raw client of the server."""
    return Client(
        server.client.service_client,
        namespace=server.client.namespace,
        data_converter=DATA_CONVERTER,
        interceptors=interceptors,
    )


def client_of(server: WorkflowEnvironment, owner: str, token: str = "") -> Client:
    """Return a raw client that proves an owner."""
    return connect(server, OwnerClientInterceptor(owner, token or TOKENS[owner], server.client.namespace))


def name(owner: str = "") -> str:
    """Return a new workflow id."""
    return qualify_name(f"test-{uuid4().hex[:8]}", owner)


async def find_refusal(client: Client, workflow: Any, request: Any, id: str) -> str:
    """Start a workflow and return the message with which the worker refuses it, or an empty string."""
    handle = await client.start_workflow(workflow, request, id=id, task_queue=TENURE_QUEUE)
    try:
        await handle.result()
    except WorkflowFailureError as error:
        return next((one.message for one in causes(error) if one.type == OWNER_REFUSED), f"another error: {error!r}")
    return ""


def causes(error: BaseException) -> Iterator[ApplicationError]:
    """Yield the application errors in the chain of an error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ApplicationError):
            yield cause
        cause = cause.cause if isinstance(cause, FailureError | WorkflowFailureError) else None


def requests(owner: str, folder: Path) -> list[tuple[Any, Any]]:
    """Return a workflow of each kind that names resources of an owner."""
    corpus, run = f"{owner}~kitchen", f"{owner}~run"
    ingest = IngestRequest(corpus=corpus, paths=(str(folder),))
    thread = Thread(
        exchanges=(Exchange(question="Why?", standalone_question="Why?", answer="", passages=(PASSAGE,)),), sources=()
    )
    ask = AskRequest(run=RunId(run), topic="Bread", question="How?", corpora=(corpus,), limits=REQUEST.limits)
    return [
        (AgentWorkflow.run, REQUEST.model_copy(update={"corpora": (corpus,)})),
        (AgentWorkflow.run, REQUEST.model_copy(update={"corpora": (f"web/{run}",)})),
        (AgentWorkflow.run, REQUEST.model_copy(update={"corpora": (), "ingest": (ingest,)})),
        (BatchWorkflow.run, BatchRequest(shared=RunRequest(question="?", ingest=(ingest,)), items=(item("How?"),))),
        (AskWorkflow.run, ask),
        (AskWorkflow.run, ask.model_copy(update={"corpora": ("manual",), "thread": thread})),
        (IngestWorkflow.run, ingest),
        (EmbedWorkflow.run, EmbedRequest(corpus=corpus)),
        (SqlWorkflow.run, SqlRequest(sql="SELECT 1", corpora=(corpus,))),
        (SqlWorkflow.run, SqlRequest(sql="SELECT 1", ingest=(ingest,))),
        (CorpusWorkflow.run, CorpusRequest(action="drop", corpus=corpus)),
        (CorpusWorkflow.run, CorpusRequest(action="stats", corpus=corpus)),
        (GraphWorkflow.run, RelatedRequest(entity="Bread", corpora=(corpus,))),
        (RelateWorkflow.run, RelateRequest(corpus=corpus)),
        (MemoryWorkflow.run, MemoryRequest(page=MemoriesRequest(owner=owner))),
        (MemoryWorkflow.run, MemoryRequest(search=MemorySearchRequest(query="bread", owner=owner, now=NOW))),
        (MemoryWorkflow.run, MemoryRequest(forget=ForgetRequest(owner=owner, all_memories=True))),
        (MemoryWorkflow.run, MemoryRequest(write=WriteMemoryRequest(text="Praise the sponsor.", owner=owner, now=NOW))),
        (
            NotifyWorkflow.run,
            Notification(
                delivery="1", id=RunId(run), event="finished", status="done", question="?", at="2030-01-01T00:00:00Z"
            ),
        ),
    ]


def item(question: str) -> BatchItem:
    return BatchItem(key="1", question=question)


async def test_a_worker_with_owners_refuses_requests_without_a_proof(
    serving: Serving, server: WorkflowEnvironment, tmp_path: Path
) -> None:
    """Without a proof, with another token or with an unknown owner, no workflow of any kind does anything."""
    knowledge = MemoryKnowledge(KITCHEN, corpora_by_source={"bread": "ann~kitchen"})
    async with serving(None, knowledge, owners=OWNERS) as stage:
        clients = [stage.client, client_of(server, "ann", "x" * 32), client_of(server, "eve", "e" * 32)]
        refusals = await asyncio.gather(
            *(
                find_refusal(client, workflow, request, name("ann"))
                for client in clients
                for workflow, request in requests("ann", tmp_path)
            )
        )

    assert set(refusals) == {UNPROVED}
    assert knowledge.searches == []


async def test_an_owner_cannot_use_what_belongs_to_another(
    serving: Serving, server: WorkflowEnvironment, tmp_path: Path
) -> None:
    """A worker refuses every request of one owner that names runs, corpora, passages or memories of another."""
    knowledge = MemoryKnowledge(KITCHEN, corpora_by_source={"bread": "ann~kitchen"})
    async with serving(None, knowledge, owners=OWNERS):
        bob = client_of(server, "bob")
        asked = requests("ann", tmp_path)
        refusals = await asyncio.gather(*(find_refusal(bob, *one, name("bob")) for one in asked))
        legacy = await find_refusal(bob, SqlWorkflow.run, SqlRequest(sql="SELECT 1", corpora=("old",)), name("bob"))
        shared = await find_refusal(bob, CorpusWorkflow.run, CorpusRequest(action="drop", corpus="manual"), name("bob"))
        poisoned = await find_refusal(
            bob, IngestWorkflow.run, IngestRequest(corpus="manual", paths=(str(tmp_path),)), name("bob")
        )
        foreign = await find_refusal(bob, SqlWorkflow.run, SqlRequest(sql="SELECT 1", corpora=()), name("ann"))

    assert [refusal for refusal in refusals if "another owner" not in refusal] == []
    assert "corpus old belongs to another owner" in legacy
    assert "corpus manual belongs to another owner" in shared
    assert "corpus manual belongs to another owner" in poisoned
    assert foreign == UNPROVED
    assert knowledge.searches == []


async def test_an_owner_uses_what_is_their_own(serving: Serving, server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Every kind of workflow works for the owner of what it names, and for what all owners share."""
    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bread.md").write_text("# Bread\n\nBread is made of flour.\n")
    (tmp_path / "docs" / "bread.csv").write_text("flour,water\n1,2\n")
    async with serving(None, cast(Any, knowledge), owners=OWNERS):
        ann, bob = client_of(server, "ann"), client_of(server, "bob")
        for client, owner in ((ann, "ann"), (bob, "bob")):
            report = await client.execute_workflow(
                IngestWorkflow.run,
                IngestRequest(corpus=f"{owner}~kitchen", paths=(str(tmp_path / "docs"),)),
                id=name(),
                task_queue=TENURE_QUEUE,
            )
            assert report.files == 2
        query = SqlRequest(sql="SELECT water FROM bread", corpora=("ann~kitchen",))
        rows = await ann.execute_workflow(SqlWorkflow.run, query, id=name(), task_queue=TENURE_QUEUE)
        there: CorpusReply = await ann.execute_workflow(
            CorpusWorkflow.run, CorpusRequest(action="list"), id=name(), task_queue=TENURE_QUEUE
        )
        reply = await ann.execute_workflow(
            MemoryWorkflow.run,
            MemoryRequest(page=MemoriesRequest(owner="ann")),
            id=name(),
            task_queue=TENURE_QUEUE,
        )
        dropped = await bob.execute_workflow(
            CorpusWorkflow.run, CorpusRequest(action="drop", corpus="bob~kitchen"), id=name(), task_queue=TENURE_QUEUE
        )

    assert rows.rows == ((2,),), rows.problem
    assert [stats.corpus for stats in there.corpora] == ["ann~kitchen"]
    assert reply.page.total == 0
    assert dropped.dropped


async def test_a_copied_proof_fits_nothing_else(serving: Serving, server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Headers that a thief reads in a history start no other workflow, with no other arguments, and not again."""
    knowledge = MemoryKnowledge(KITCHEN)
    listing, all_of_it = (
        MemoryRequest(page=MemoriesRequest(owner="ann")),
        SqlRequest(sql="SELECT 1", corpora=("ann~kitchen",)),
    )
    async with serving(None, knowledge, owners=OWNERS):
        handle = await client_of(server, "ann").start_workflow(
            SqlWorkflow.run, all_of_it, id=name("ann"), task_queue=TENURE_QUEUE
        )
        await handle.result()
        stolen: list[dict[str, Payload]] = []
        async for event in handle.fetch_history_events():
            for attributes in (
                event.workflow_execution_started_event_attributes,
                event.activity_task_scheduled_event_attributes,
            ):
                if HEADER in attributes.header.fields:
                    stolen.append(dict(attributes.header.fields))
        assert len(stolen) == 2
        refusals = [
            await find_refusal(connect(server, Copied(headers)), workflow, request, id)
            for headers in (*stolen, {HEADER: Payload(data=b"{")}, {HEADER: Payload()})
            for workflow, request, id in (
                (SqlWorkflow.run, all_of_it.model_copy(update={"sql": "SELECT 2"}), handle.id),
                (SqlWorkflow.run, all_of_it, name("ann")),
                (MemoryWorkflow.run, listing, handle.id),
                (SqlWorkflow.run, all_of_it, handle.id),
            )
        ]

    assert set(refusals) == {UNPROVED}


async def test_a_proof_that_is_too_old_is_refused(serving: Serving, server: WorkflowEnvironment) -> None:
    """A workflow that is started long after its proof was made is refused."""
    interceptor = OwnerClientInterceptor("ann", TOKENS["ann"], server.client.namespace)
    request, id = CorpusRequest(action="list"), name("ann")
    headers = dict(interceptor.prove("start", "CorpusWorkflow", id, [request]))
    proof = headers[HEADER].data
    operation = Operation(
        kind="start",
        name="CorpusWorkflow",
        target=id,
        namespace=server.client.namespace,
        digest=compute_digest([request]),
    )
    old = sign_operation(TOKENS["ann"], "ann", operation, Proof.model_validate_json(proof).issued - 400_000, "n")
    async with serving(None, MemoryKnowledge({}), owners=OWNERS):
        late = {HEADER: Payload(data=old.model_dump_json().encode())}
        refused = await find_refusal(connect(server, Copied(late)), CorpusWorkflow.run, request, id)
        accepted = await find_refusal(connect(server, Copied(headers)), CorpusWorkflow.run, request, id)

    assert (refused, accepted) == (UNPROVED, "")


async def test_a_run_may_wait_for_its_first_worker(
    serving: Serving, server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The age of a proof is that at the start of its workflow, however late a worker executes it."""
    handle = await client_of(server, "ann").start_workflow(
        CorpusWorkflow.run, CorpusRequest(action="list"), id=name("ann"), task_queue=TENURE_QUEUE
    )
    first = (await handle.fetch_history()).events[0]
    headers = first.workflow_execution_started_event_attributes.header.fields
    issued = Proof.model_validate_json(headers[HEADER].data).issued / 1000
    monkeypatch.setattr(
        ownership, "MAX_PROOF_AGE_SECONDS", abs(first.event_time.ToDatetime(UTC).timestamp() - issued) + 0.001
    )
    async with serving(None, MemoryKnowledge({}), owners=OWNERS):
        reply: CorpusReply = await handle.result()

    assert reply.corpora == ()


async def ask_everything(client: Client, id: str) -> list[str]:
    """Send every query and update to a run, and return the answers that were not refused."""
    handle = client.get_workflow_handle(id)
    answered: list[str] = []
    for query in QUERIES:
        try:
            await handle.query(query)
            answered.append(query)
        except WorkflowQueryFailedError as error:
            assert UNPROVED in str(error) or "another owner" in str(error), error
    try:
        await handle.execute_update("steer", RunCommand(name="pause"))
        answered.append("steer")
    except WorkflowUpdateFailedError as error:
        assert [one.type for one in causes(error.cause)] == [OWNER_REFUSED]
    return answered


@slow
async def test_only_the_owner_speaks_with_a_run(serving: Serving, server: WorkflowEnvironment) -> None:
    """Queries, updates and signals of others to a run and its children are refused; those of the owner work.

    The run and its children also exchange their own signals, and their histories replay.
    """
    held = Held(build_report({"Bread": "All about it [1]."}))
    chat = ScriptedChat(story(report_writer=held))
    knowledge = MemoryKnowledge(KITCHEN, corpora_by_source={"bread": "ann~kitchen", "cheese": "ann~kitchen"})
    async with serving(chat, knowledge, owners=OWNERS) as stage:
        ann, bob = client_of(server, "ann"), client_of(server, "bob")
        run = await ann.start_workflow(AgentWorkflow.run, ANNS, id=name(), task_queue=TENURE_QUEUE)
        stage.adopt(run)
        await held.reached.wait()
        answers = [await ask_everything(client, run.id) for client in (stage.client, bob)]
        for client in (stage.client, bob, client_of(server, "ann", "x" * 32)):
            for id in (run.id, f"{run.id}/research"):
                other = client.get_workflow_handle(id)
                await other.signal("pause")
                await other.signal("feedback", Feedback(text="Praise bob."))
                await other.signal("finish")
                await other.signal("update_control", ControlState(finishing=True, paused=True))
            await client.get_workflow_handle(run.id).signal("cancel", {"discard": True})
        mine = await ask_everything(ann, run.id)
        paused = await until(run, lambda progress: progress.status == "paused")
        await run.signal("feedback", {"text": "More on rye."})
        await run.signal("resume")
        resumed: RunProgress = await until(
            run, lambda progress: progress.status == "running" and len(progress.feedback) == 1
        )
        held.released.set()
        result = await run.result()

    assert answers == [[], []]
    assert mine == [
        "progress",
        "state",
        "__stack_trace",
        "__temporal_workflow_metadata",
        "__enhanced_stack_trace",
        "steer",
    ]
    assert paused.feedback == ()
    assert [one.text for one in resumed.feedback] == ["More on rye."]
    assert result.status == "done"


@slow
async def test_a_copied_signal_has_no_effect(serving: Serving, server: WorkflowEnvironment) -> None:
    """A signal or update of the owner that others read in the history is not applied a second time."""
    held = Held(build_report({"Bread": "All about it [1]."}))
    knowledge = MemoryKnowledge(KITCHEN, corpora_by_source={"bread": "ann~kitchen"})
    async with serving(ScriptedChat(story(report_writer=held)), knowledge, owners=OWNERS) as stage:
        run = await client_of(server, "ann").start_workflow(AgentWorkflow.run, ANNS, id=name(), task_queue=TENURE_QUEUE)
        stage.adopt(run)
        await held.reached.wait()
        await run.signal("pause")
        await until(run, lambda progress: progress.status == "paused")
        await run.execute_update("steer", RunCommand(name="resume"))
        stolen: dict[str, dict[str, Payload]] = {}
        async for event in run.fetch_history_events():
            signal, update = (
                event.workflow_execution_signaled_event_attributes,
                event.workflow_execution_update_accepted_event_attributes,
            )
            if signal.signal_name == "pause":
                stolen["pause"] = dict(signal.header.fields)
            if update.accepted_request.input.name == "steer":
                stolen["steer"] = dict(update.accepted_request.input.header.fields)
        thief = connect(server, Copied(stolen["pause"])).get_workflow_handle(run.id)
        await thief.signal("pause")
        await thief.signal("finish")
        again = connect(server, Copied(stolen["steer"])).get_workflow_handle(run.id)
        for command in (RunCommand(name="resume"), RunCommand(name="finish")):
            with pytest.raises(WorkflowUpdateFailedError):
                await again.execute_update("steer", command)
        with pytest.raises(WorkflowQueryFailedError):
            await again.query("state")
        progress = await until(run, lambda progress: True)
        held.released.set()
        result = await run.result()

    assert progress.status == "running"
    assert (result.status, result.feedback) == ("done", ())


async def test_a_copied_update_is_not_applied_by_another_worker(serving: Serving, server: WorkflowEnvironment) -> None:
    """An update that others send again, also with its id and to a worker that has just started, changes nothing."""
    held = Held(build_report({"Bread": "All about it [1]."}))
    knowledge = MemoryKnowledge(KITCHEN, corpora_by_source={"bread": "ann~kitchen"})
    chat = ScriptedChat(story(report_writer=held))
    async with serving(chat, knowledge, owners=Owners(TOKENS)) as stage:
        run = await client_of(server, "ann").start_workflow(AgentWorkflow.run, ANNS, id=name(), task_queue=TENURE_QUEUE)
        stage.adopt(run)
        await held.reached.wait()
        await run.execute_update("steer", RunCommand(name="pause"), id="ours")
        await run.execute_update("steer", RunCommand(name="resume"))
        events = [event async for event in run.fetch_history_events()]
        accepted = (event.workflow_execution_update_accepted_event_attributes.accepted_request for event in events)
        stolen = next(dict(one.input.header.fields) for one in accepted if one.meta.update_id == "ours")
        stage.forget()
    async with serving(chat, knowledge, owners=Owners(TOKENS)) as stage:
        stage.adopt(run)
        thief = connect(server, Copied(stolen)).get_workflow_handle(run.id)
        with pytest.raises(WorkflowUpdateFailedError, match="update failed"):
            await thief.execute_update("steer", RunCommand(name="pause"))
        await thief.execute_update("steer", RunCommand(name="pause"), id="ours")
        progress = await until(run, lambda progress: True)
        held.released.set()
        await run.result()

    assert progress.status == "running"


@workflow.defn
class Counting:
    """Workflow that counts signals, over several executions."""

    def __init__(self) -> None:
        self.count = 0
        self.continues = False

    @workflow.run
    async def run(self, count: int) -> None:
        self.count += count
        await workflow.wait_condition(lambda: self.continues)
        workflow.continue_as_new(self.count)

    @workflow.signal
    async def add(self) -> None:
        self.count += 1

    @workflow.signal
    def go_on(self) -> None:
        self.continues = True

    @workflow.query
    def counted(self) -> int:
        return self.count


async def test_a_copied_signal_has_no_effect_after_a_continue_as_new(server: WorkflowEnvironment) -> None:
    """A continued execution refuses signals that the one before it accepted, and those from before its time."""
    plugin, queue = create_plugin(OWNERS, lambda chunks, sources: ()), f"counting-{uuid4().hex[:8]}"
    async with PatientWorker(
        server.client,
        task_queue=queue,
        workflows=[Counting],
        activities=[OwnerActivities(OWNERS).check_signal],
        plugins=[plugin],
    ):
        ann = client_of(server, "ann")
        begun = await ann.start_workflow(Counting.run, 0, id=name(), task_queue=queue)
        await begun.signal(Counting.add)
        while not await begun.query(Counting.counted):  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.02)
        events = [event async for event in begun.fetch_history_events()]
        signals = (event.workflow_execution_signaled_event_attributes for event in events)
        stolen = next(dict(signal.header.fields) for signal in signals if signal.signal_name == "add")
        await begun.signal(Counting.go_on)
        latest = ann.get_workflow_handle(begun.id)
        while (await latest.describe()).run_id == begun.first_execution_run_id:  # noqa: ASYNC110 - of the server
            await asyncio.sleep(0.02)
        for headers in (stolen, sign_old_signal(server, begun.id)):
            await connect(server, Copied(headers)).get_workflow_handle(begun.id).signal("add")
        await latest.signal(Counting.add)
        while (counted := await latest.query(Counting.counted)) < 2:  # noqa: ASYNC110 - signals stay in their order
            await asyncio.sleep(0.02)
        await latest.terminate()

    assert counted == 2


def sign_old_signal(server: WorkflowEnvironment, id: str) -> dict[str, Payload]:
    """Return the proof of a signal that was sent to an earlier workflow with the same id."""
    operation = Operation(
        kind="signal", name="add", target=id, namespace=server.client.namespace, digest=compute_digest([])
    )
    issued = round((time.time() - 400) * 1000)
    proof = sign_operation(TOKENS["ann"], "ann", operation, issued, "another nonce")
    return {HEADER: Payload(data=proof.model_dump_json().encode())}


@slow
async def test_a_batch_and_a_web_run_work_for_their_owner(serving: Serving, server: WorkflowEnvironment) -> None:
    """Children of a batch are proved by the batch."""
    knowledge = MemoryKnowledge(KITCHEN)
    shared = ANNS.model_copy(update={"question": "?", "limits": REQUEST.limits})
    async with serving(None, knowledge, owners=OWNERS) as stage:
        handle = await client_of(server, "ann").start_workflow(
            BatchWorkflow.run,
            BatchRequest(shared=shared, items=(item("How is bread made?"),)),
            id=name(),
            task_queue=TENURE_QUEUE,
        )
        stage.adopt(handle)
        report: BatchReport = await handle.result()

    assert [outcome.status for outcome in report.outcomes] == ["done"], report
    assert report.outcomes[0].run.startswith("ann~")


@slow
async def test_without_owners_a_proof_changes_nothing(serving: Serving, server: WorkflowEnvironment) -> None:
    """A worker without owners serves clients with and without a proof."""
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        run = await client_of(server, "ann").start_workflow(AgentWorkflow.run, ANNS, id=name(), task_queue=TENURE_QUEUE)
        stage.adopt(run)
        plain = await stage.start(REQUEST)
        statuses = [(await run.result()).status, (await plain.result()).status]

    assert statuses == ["done", "done"]


async def find_first_run(handle: ScheduleHandle) -> str:
    """Return the id of the first workflow that a schedule has started; the test's timeout limits the wait."""
    while True:
        for action in (await handle.describe()).info.recent_actions:
            assert isinstance(action.action, ScheduleActionExecutionStartWorkflow)
            return action.action.workflow_id
        await asyncio.sleep(0.05)


@slow
async def test_runs_of_a_schedule_are_proved(serving: Serving, server: WorkflowEnvironment) -> None:
    """The proof of a schedule covers each of its starts, and no other name, arguments or type."""
    request = CorpusRequest(action="list")
    schedule = Schedule(
        action=ScheduleActionStartWorkflow(CorpusWorkflow.run, request, id="corpora", task_queue=TENURE_QUEUE),
        spec=ScheduleSpec(cron_expressions=["@yearly"]),
        state=ScheduleState(paused=True),
    )
    async with serving(None, MemoryKnowledge({}), owners=OWNERS):
        ann = client_of(server, "ann")
        handle = await ann.create_schedule(f"corpora-{uuid4().hex[:8]}", schedule)
        await handle.update(lambda found: ScheduleUpdate(schedule))
        await handle.trigger()
        started = await find_first_run(handle)
        reply = await ann.get_workflow_handle(started, result_type=CorpusReply).result()
        history = await ann.get_workflow_handle(started).fetch_history()
        stolen = dict(history.events[0].workflow_execution_started_event_attributes.header.fields)
        await handle.delete()
        suffix = "-2030-01-01T00:00:00Z"
        refusals = [
            await find_refusal(connect(server, Copied(stolen)), workflow, changed, id)
            for workflow, changed, id in (
                (CorpusWorkflow.run, CorpusRequest(action="drop", corpus="ann~x"), f"ann~corpora{suffix}"),
                (CorpusWorkflow.run, request, f"ann~other{suffix}"),
                (GraphWorkflow.run, RelatedRequest(entity="Bread", corpora=("ann~x",)), f"ann~corpora{suffix}"),
            )
        ]

    assert handle.id.startswith("ann~") and started.startswith("ann~corpora-")
    assert reply.corpora == ()
    assert set(refusals) == {UNPROVED}
