"""Paid answers of a model call survive failed attempts and killed workers in its heartbeats."""

import asyncio
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio import activity
from temporalio.activity import ActivityCancellationDetails
from temporalio.client import ActivityHandle, AsyncActivityCancelledError, Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment, WorkflowEnvironment

from activities import model_call_tracking as calling_module
from activities.model_call_tracking import track_model_call
from activities.roles import RoleActivities
from tenure.contracts.run.role_calls import CallProgress, ModelAnswer, RoleReply
from tenure.models.chat import PartialAnswer
from tenure.models.errors import TransportError
from tenure.models.openai.chat import OpenAIChat
from tenure.roles.research import router
from tenure.roles.research.router import RouterInput, RouterOutput
from tests.model_server import Fault, ModelServer
from tests.models.routes import routes
from tests.support.schema_instance import Json
from tests.support.tiers import exhaustive, slow
from tests.support.waiting import WAIT_SECONDS, wait_until
from tests.support.workers import PatientWorker
from tests.support.worlds import MemoryKnowledge, ScriptedChat
from workflows.runtime.task_queues import MODEL_QUEUE

ROOT = Path(__file__).parents[2]
ROUTE = {"mode": "RESEARCH", "complexity": "simple", "query_type": "factual", "reason": "asked so"}
PAID = ModelAnswer(text="no JSON", model="m", tokens_in=7, tokens_out=3)


class _Recorder:
    """Replacement for the connection to Temporal: raises the given errors, then records heartbeats."""

    def __init__(self, told: list[CallProgress], refusals: Sequence[BaseException]) -> None:
        self._told = told
        self._refusals = list(refusals)

    def get_async_activity_handle(self, *, task_token: bytes) -> "_Recorder":
        return self

    async def heartbeat(self, progress: CallProgress) -> None:
        if self._refusals:
            raise self._refusals.pop(0)
        self._told.append(progress)


def environment(
    *earlier: CallProgress, refusals: Sequence[BaseException] = ()
) -> tuple[ActivityEnvironment, list[CallProgress]]:
    """Return an activity's environment with the details of an earlier attempt, and the details of its heartbeats."""
    told: list[CallProgress] = []
    made = ActivityEnvironment(client=cast(Client, _Recorder(told, refusals)))
    details = [progress.model_dump(mode="json") for progress in earlier]
    made.info = replace(made.info, heartbeat_timeout=None, heartbeat_details=details)
    made.on_heartbeat = lambda *details: told.extend(details)
    return made, told


async def test_paid_answers_are_stored_before_the_next_request() -> None:
    """Answers and the id of a background response are stored on request, once; token counts wait for a heartbeat."""
    made, told = environment()

    async def work() -> None:
        async with track_model_call() as call:
            call.read_partial = lambda: PartialAnswer(5)
            await call.save_response_id("resp_1")
            call.read_partial = lambda: PartialAnswer(6)
            await call.save_answers()  # none has arrived
            call.record_answer(PAID)
            await call.save_answers()
            await call.save_answers()

    await made.run(work)

    begun = CallProgress(tokens=5, response_id="resp_1")
    paid = CallProgress(answers=(PAID,))
    assert told == [begun, begun, paid, paid]


async def test_heartbeats_carry_what_people_may_read() -> None:
    """The text of an answer that may be read leaves out its reasoning, and another answer replaces it."""
    made, told = environment()

    async def work() -> None:
        async with track_model_call(str.upper) as call:
            for text in ("<think>Hm", "<think>Hm.</think>rye"):
                call.read_partial = partial(PartialAnswer, 5, text)
                await call.save_response_id("")
            call.record_answer(PAID)
            await call.save_answers()

    await made.run(work)

    assert [progress.text for progress in told[::2]] == ["", "RYE", ""]


async def test_next_answer_is_requested_while_temporal_is_away() -> None:
    """A call that cannot store its answers continues: a later heartbeat contains them."""
    made, told = environment(refusals=[refused(RPCStatusCode.UNAVAILABLE)] * 3)

    async def work() -> None:
        async with track_model_call() as call:
            call.record_answer(PAID)
            await call.save_answers()

    await made.run(work)

    assert told == [CallProgress(answers=(PAID,))]


async def test_failing_attempt_delivers_its_answers() -> None:
    """The last heartbeat of an attempt that fails contains the answers that it has paid for."""
    made, told = environment()

    async def work() -> None:
        async with track_model_call() as call:
            call.record_answer(PAID)
            raise KeyError("gone")

    with pytest.raises(KeyError):
        await made.run(work)

    assert told == [CallProgress(answers=(PAID,))]


def refused(code: RPCStatusCode) -> RPCError:
    """Return an error of the connection to Temporal."""
    return RPCError("refused", code, b"")


async def begun(*refusals: BaseException) -> list[CallProgress]:
    """Start a response while the connection fails repeatedly, and return the details that arrived."""
    made, told = environment(refusals=refusals)

    async def work() -> None:
        async with track_model_call() as call:
            await call.save_response_id("resp_1")

    await made.run(work)
    return told


@pytest.mark.parametrize(
    "refusals",
    [
        [refused(RPCStatusCode.UNAVAILABLE), TimeoutError()],
        [AsyncActivityCancelledError(ActivityCancellationDetails(cancel_requested=True))],
    ],
)
async def test_response_id_is_recorded_after_failures(
    refusals: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that fails briefly is retried; a cancellation is not a failure."""
    monkeypatch.setattr(calling_module, "RECORD_PAUSES_SECONDS", (0.0, 0.0, 0.0))

    assert {progress.response_id for progress in await begun(*refusals)} == {"resp_1"}


@pytest.mark.parametrize(
    ("refusals", "why"),
    [([refused(RPCStatusCode.UNAVAILABLE)] * 3, "UNAVAILABLE"), ([refused(RPCStatusCode.NOT_FOUND)], "NOT_FOUND")],
)
async def test_unrecorded_response_id_fails_the_attempt(
    refusals: list[BaseException], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the third failure, or when the call has ended, the model layer receives an error."""
    monkeypatch.setattr(calling_module, "RECORD_PAUSES_SECONDS", (0.0, 0.0, 0.0))

    with pytest.raises(TransportError, match=why):
        await begun(*refusals)


@exhaustive
async def test_older_heartbeat_does_not_replace_a_response_id(server: WorkflowEnvironment) -> None:
    """A recorded id replaces the delayed details, so that the next attempt finds it."""
    found: list[str] = []

    @activity.defn
    async def router() -> None:
        async with track_model_call() as call:
            found.append(call.response_id)
            if not found[-1]:
                activity.heartbeat(CallProgress(answers=(PAID,)))
                await an_answer_is_out(server.client, server.client.get_activity_handle(queue))
                activity.heartbeat(CallProgress())  # held back, since a heartbeat has just left
                await call.save_response_id("resp_1")
                raise ApplicationError("this attempt is over")

    queue = uuid.uuid4().hex
    async with PatientWorker(server.client, task_queue=queue, activities=[router]):  # at the SDK's own pace
        await server.client.execute_activity(
            router,
            id=queue,
            task_queue=queue,
            start_to_close_timeout=timedelta(minutes=2),
            heartbeat_timeout=timedelta(seconds=30),
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10), maximum_attempts=3),
        )

    assert found == ["", "resp_1"]


async def test_attempt_continues_from_the_previous_one() -> None:
    """Answers and background response of an earlier attempt are available and sent with every heartbeat."""
    earlier = CallProgress(response_id="resp_1", answers=(PAID,))
    made, _ = environment(earlier)
    made.info = replace(made.info, heartbeat_timeout=timedelta(seconds=30))
    first_beat: asyncio.Future[CallProgress] = asyncio.get_running_loop().create_future()
    made.on_heartbeat = first_beat.set_result

    async def work() -> tuple[ModelAnswer | None, str, CallProgress]:
        async with track_model_call() as call:
            return call.replay_answer(), call.response_id, await first_beat

    assert await made.run(work) == (PAID, "resp_1", earlier)


@pytest.mark.parametrize(
    ("why", "abandoned"),
    [
        (ActivityCancellationDetails(cancel_requested=True), True),
        (ActivityCancellationDetails(not_found=True), True),
        (ActivityCancellationDetails(worker_shutdown=True), False),
        (ActivityCancellationDetails(timed_out=True), False),
        (ActivityCancellationDetails(paused=True), False),
    ],
)
async def test_call_of_an_ended_run_is_abandoned(why: ActivityCancellationDetails, abandoned: bool) -> None:
    """A cancelled or missing run abandons its call; a stopping worker leaves it to the next one."""
    made, _ = environment()
    begun = asyncio.Event()

    async def work() -> bool:
        async with track_model_call() as call:
            assert not call.is_abandoned()
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                return call.is_abandoned()  # noqa: B012 - the cancellation has done its work

    running = asyncio.create_task(made.run(work))
    await begun.wait()
    made.cancel(why)

    assert await running is abandoned


async def test_received_answer_is_not_requested_again() -> None:
    """After the death of a worker the next attempt uses the received answer without a request."""
    good = PAID.model_copy(update={"text": RouterOutput.model_validate(ROUTE).model_dump_json()})
    made, _ = environment(CallProgress(answers=(PAID, good)))
    chat = ScriptedChat({})

    reply = await made.run(RoleActivities(chat, MemoryKnowledge({})).build(router.ROLE), question())  # type: ignore[arg-type]

    assert chat.asked == []
    assert (reply.model_calls, reply.tokens_in, reply.tokens_out, reply.fallback_reason) == (2, 14, 6, None)


def question() -> Any:
    """Return a request to the router."""
    return router.ROLE.request_type(input=RouterInput(question="How is bread made?"))


async def asked(client: Client, queue: str) -> ActivityHandle[RoleReply[RouterOutput]]:
    """Start the router's activity."""
    return await client.start_activity(
        "router",
        question(),
        id=f"call-{uuid.uuid4().hex[:8]}",
        task_queue=queue,
        result_type=RoleReply[RouterOutput],
        start_to_close_timeout=timedelta(minutes=2),
        heartbeat_timeout=timedelta(seconds=10),
        retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10)),
    )


def unusable_first(model: ModelServer, then: Callable[[], object]) -> None:
    """Let the model server answer the router in prose first, call a function, and answer correctly from then on."""

    def line(request: Json) -> str | Json:
        if len(request["messages"]) > 2:  # the prompt, the bad answer and what is wrong with it
            return ROUTE
        then()
        return "I would rather talk about bread."

    model.on("router", line)


@slow
async def test_failed_correction_does_not_repeat_the_first_request(server: WorkflowEnvironment) -> None:
    """After a 503 the next attempt continues with the correction, and every answer is counted once."""
    queue = uuid.uuid4().hex
    with ModelServer() as model:
        unusable_first(model, lambda: model.fail(Fault(503, {"retry-after-ms": "10"}), schema="router"))
        chat = OpenAIChat(routes("m"), base_url=model.base_url)
        roles = RoleActivities(chat, MemoryKnowledge({}))  # type: ignore[arg-type]
        # The SDK's own throttling delays heartbeats for seconds; a failing attempt sends its last one.
        async with PatientWorker(server.client, task_queue=queue, activities=[roles.build(router.ROLE)]):
            reply = await (await asked(server.client, queue)).result()
        await chat.aclose()

    assert [len(request.json["messages"]) for request in model.requests_of("router")] == [2, 4, 4]
    assert (reply.model_calls, reply.fallback_reason) == (len(model.billed), None) == (2, None)
    assert (reply.tokens_in, reply.tokens_out) == model.tokens


@asynccontextmanager
async def worker_process(model: ModelServer, server: WorkflowEnvironment, home: Path) -> AsyncIterator[Any]:
    """Run `worker.py` for the model queue as a separate process that is dead after the block."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "OPENAI_"))},
        **model.environment,
        "TENURE_HOME": str(home),
        "TEMPORAL_ADDRESS": server.client.service_client.config.target_host,
    }
    command = [sys.executable, "worker.py", "--queues", MODEL_QUEUE]
    with (home.parent / "worker.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def an_answer_is_out(client: Client, handle: ActivityHandle[Any]) -> None:
    """Wait until the server knows an answer of a call."""

    async def read_progress() -> list[CallProgress]:
        payloads = (await handle.describe(include_heartbeat_details=True)).raw_info.heartbeat_details.payloads
        return await client.data_converter.decode(payloads, [CallProgress]) if payloads else []

    await wait_until("an answer in the heartbeat", read_progress, lambda known: known and known[0].answers)


@slow
async def test_killed_worker_leaves_its_paid_answers(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """After kill -9 during a correction another worker repeats only that; the first answer is kept and counted."""
    with ModelServer() as model, ExitStack() as held:
        unusable_first(model, lambda: held.enter_context(model.hold("router")))
        handle = await asked(server.client, MODEL_QUEUE)
        async with worker_process(model, server, tmp_path / "home") as process:
            await an_answer_is_out(server.client, handle)
            process.send_signal(signal.SIGKILL)
            await process.wait()
        held.close()
        async with worker_process(model, server, tmp_path / "home"):
            reply = await asyncio.wait_for(handle.result(), 120)

    first_questions = [request for request in model.requests_of("router") if len(request.json["messages"]) == 2]
    assert (len(first_questions), reply.model_calls, reply.fallback_reason) == (1, 2, None)


@slow
async def test_stopping_worker_waits_for_an_answer(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """An answer within the graceful shutdown timeout is delivered without a second request."""
    with ModelServer() as model:
        handle = await asked(server.client, MODEL_QUEUE)
        async with worker_process(model, server, tmp_path / "home") as process:
            with model.hold("router") as gate:
                assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
                process.send_signal(signal.SIGTERM)
                log = tmp_path / "worker.log"
                await wait_until("the worker's notice", log.read_text, lambda text: "worker is stopping" in text)
            reply = await handle.result()
            await process.wait()

    assert (len(model.requests_of("router")), reply.model_calls, process.returncode) == (1, 1, 0)


@exhaustive
async def test_stopped_worker_hands_over_its_call(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A call that exceeds the graceful shutdown timeout is cancelled, and the next worker repeats it."""
    with ModelServer() as model:
        handle = await asked(server.client, MODEL_QUEUE)
        async with worker_process(model, server, tmp_path / "home") as process:
            with model.hold("router") as gate:
                assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
                process.send_signal(signal.SIGTERM)
                await process.wait()
        hung_up = len(model.abandoned)
        async with worker_process(model, server, tmp_path / "home"):
            reply = await handle.result()

    assert (hung_up, len(model.requests_of("router")), reply.model_calls, process.returncode) == (1, 2, 1, 0)
