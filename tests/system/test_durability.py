"""Job security: a worker killed for real, whenever it is, costs nothing that was finished."""

import asyncio
import os
import random
import signal
import sys
import threading
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import Client, WorkflowHandle
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.choices import Complexity
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.roles.registry import list_role_names
from tests.model_server import ModelServer
from tests.sources.pictures import describe_picture, make_docx_with_pictures, read_check
from tests.support.schema_instance import Json
from tests.support.tiers import RUN_ALL, exhaustive, slow
from tests.support.waiting import WAIT_SECONDS, wait_until
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

ROOT = Path(__file__).parents[2]
ROLES = frozenset(list_role_names())
MOMENTS = ("router", "outliner", "report_writer", "report_reviewer")
"""Roles during whose model call the worker is killed in the slow form."""
KILLED = MOMENTS if RUN_ALL else ("report_writer", "report_reviewer")
"""Those at which it is killed: while the report is written, and while it is reviewed."""


@asynccontextmanager
async def worker_process(environment: dict[str, str], log: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `worker.py` as its own process and kill it at the end, if the test has not done so."""
    with log.open("ab") as sink:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "worker.py", cwd=ROOT, env=environment, stdout=sink, stderr=sink
        )
    try:
        yield process
    except BaseException:
        print(log.read_text()[-4000:])  # pytest shows it with the failure
        raise
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


async def finished(client: Client, run: str) -> tuple[Counter[str], Counter[str]]:
    """Return activities of a run and its children by name: scheduled and completed.

    Roles that asked no model are named so.
    """
    scheduled: Counter[str] = Counter()
    completed: Counter[str] = Counter()
    async for execution in client.list_workflows(
        f'WorkflowId STARTS_WITH "{run}" AND WorkflowType != "ArchiveWorkflow"'  # it continues after the run
    ):
        names: dict[int, str] = {}
        handle = client.get_workflow_handle(execution.id, run_id=execution.run_id)
        async for event in handle.fetch_history_events():
            if event.HasField("activity_task_scheduled_event_attributes"):
                names[event.event_id] = event.activity_task_scheduled_event_attributes.activity_type.name
                scheduled[names[event.event_id]] += 1
            elif event.HasField("activity_task_completed_event_attributes"):
                done = event.activity_task_completed_event_attributes
                name = names[done.scheduled_event_id]
                if name in ROLES and not (await client.data_converter.decode(done.result.payloads))[0]["model_calls"]:
                    scheduled[name] -= 1
                    name = f"{name} without a model"
                    scheduled[name] += 1
                completed[name] += 1
    return scheduled, completed


async def in_flight(client: Client, run: str) -> Counter[str]:
    """Return the started and unfinished activities of a run and its children, by name."""
    begun: Counter[str] = Counter()
    async for execution in client.list_workflows(f'WorkflowId STARTS_WITH "{run}" AND ExecutionStatus = "Running"'):
        described = await client.get_workflow_handle(execution.id, run_id=execution.run_id).describe()
        begun.update(
            pending.activity_type.name
            for pending in described.raw_description.pending_activities
            if pending.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
        )
    return begun


async def wait_for_activity(client: Client, run: str, name: str) -> None:
    """Wait until a run or one of its children is in an activity."""
    await wait_until(f"activity {name} of {run}", lambda: in_flight(client, run), lambda begun: begun[name])


def kitchen(folder: Path) -> Path:
    """Write two documents and return their folder."""
    documents = folder / "documents"
    documents.mkdir()
    (documents / "bread.md").write_text("# Bread\n\nBread is made from flour, water, salt and yeast.\n")
    (documents / "cheese.md").write_text("# Cheese\n\nCheese is made from milk that rennet has curdled.\n")
    return documents


async def started(client: Client, folder: Path, effort: Complexity = "moderate") -> WorkflowHandle[Any, Result]:
    """Start a run over two documents; its report is reviewed once."""
    return await client.start_workflow(
        AgentWorkflow.run,
        RunRequest(
            question="How are bread and cheese made?",
            ingest=(IngestRequest(corpus="food", paths=(str(kitchen(folder)),)),),
            corpora=("food",),
            limits=RunLimits(min_relevance=0.0, max_report_revisions=1, has_model=True, effort=effort),
        ),
        id=f"drill-{uuid.uuid4().hex[:8]}",
        task_queue=TENURE_QUEUE,
    )


def outline(*names: str) -> dict[str, Any]:
    """Return an outliner's answer with a topic of each name."""
    return {"topics": [{"heading": name, "question": f"How is {name} made?"} for name in names]}


def around(model: ModelServer, client: Client, folder: Path, **settings: str) -> dict[str, str]:
    """Return the environment of a worker on the test's servers and a home of its own."""
    model.on("outliner", outline("Bread", "Cheese"))
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "OPENAI_"))},
        **model.environment,
        "TENURE_HOME": str(folder / "home"),
        "TENURE_DOCUMENT_ROOTS": str(folder),
        "TENURE_HEARTBEAT_SECONDS": "7",
        "TENURE_ARCHIVE_HOURS": "0",  # the server has the runs of other tests
        "TEMPORAL_ADDRESS": client.service_client.config.target_host,
        **settings,
    }


def of_roles(completed: Counter[str]) -> Counter[str]:
    """Return the role calls among the activities that used the model."""
    return Counter({name: count for name, count in completed.items() if name in ROLES})


@slow
async def test_killing_the_worker_loses_nothing(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """After each kill -9 a new worker continues; the run ends with its report, and no finished call is repeated."""
    with ModelServer() as model:
        environment = around(model, server.client, tmp_path)
        handle = await started(server.client, tmp_path)
        interrupted: Counter[str] = Counter()
        for moment in KILLED:
            async with worker_process(environment, tmp_path / "worker.log") as process:
                with model.hold(moment) as gate:
                    assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS), f"the run never reached {moment}"
                    process.send_signal(signal.SIGKILL)
                    await process.wait()
                    interrupted += await in_flight(server.client, handle.id)
        async with worker_process(environment, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 90)
            scheduled, completed = await finished(server.client, handle.id)

    asked = Counter(request.schema_name for request in model.requests if request.schema_name)
    roles = of_roles(completed)
    assert result.status == "done"
    assert scheduled == completed
    # Only a call in flight at a kill may be made again; the one whose answer was held back has to be.
    assert Counter(roles) + Counter(KILLED) <= asked <= Counter(roles) + interrupted
    assert result.usage.model_calls == sum(roles.values())


@slow
async def test_a_reading_of_a_picture_is_paid_once(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Killed during the second of two pictures, the run reads that one again with the next worker, and no other."""
    asked: Counter[str] = Counter()
    reached, released = threading.Event(), threading.Event()

    def read(request: Json) -> Json:
        asked[read_check(request)] += 1
        if asked.total() == 2:
            reached.set()
            released.wait(WAIT_SECONDS)
        return describe_picture(request)

    with ModelServer() as model:
        model.on("picture_reader", read)
        environment = around(model, server.client, tmp_path)
        handle = await started(server.client, tmp_path)
        (tmp_path / "documents" / "rye.docx").write_bytes(make_docx_with_pictures())
        async with worker_process(environment, tmp_path / "worker.log") as process:
            assert await asyncio.to_thread(reached.wait, WAIT_SECONDS), "the run never showed a second picture"
            process.send_signal(signal.SIGKILL)
            await process.wait()
            released.set()
        async with worker_process(environment, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 90)

    assert sorted(asked.values()) == [1, 2]
    assert result.status == "done"
    assert result.usage.by_role["picture_reader"].model_calls == 2


def settled(model: ModelServer, count: int, *, background: bool) -> bool:
    """Return whether the given number of requests has arrived and Temporal knows the ids of background responses."""
    known = not (model.in_flight or model.responses.unfetched)
    return len(model.requests) >= count and (known or not background)


async def frozen(process: asyncio.subprocess.Process, model: ModelServer, count: int, *, background: bool) -> None:
    """Stop the worker with SIGSTOP after the given number of requests.

    A background response whose id is not stored yet would be lost with the worker: the drill avoids that moment.
    """

    async def freeze() -> bool:
        if not settled(model, count, background=background):
            return False
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(0.05)  # what had left the worker arrives
        if settled(model, count, background=background):
            return True
        process.send_signal(signal.SIGCONT)
        return False

    await wait_until(f"{count} requests", freeze)


async def killed_at_random(
    client: Client, model: ModelServer, folder: Path, seed: int, kills: int, **settings: str
) -> tuple[Result, Counter[str], Counter[str]]:
    """Kill the worker the given number of times, each at a random request after the last kill, and finish the run.

    Returns:
        The result, the completed calls of roles, and those in flight at a kill.
    """
    chance = random.Random(seed)
    environment = around(model, client, folder, **settings)
    model.on("outliner", outline("Bread", "Cheese", "Dough", "Milk", "Rennet", "Salt"))  # calls enough for the kills
    handle = await started(client, folder, "complex")
    interrupted: Counter[str] = Counter()
    for _ in range(kills):
        async with worker_process(environment, folder / "worker.log") as process:
            due = len(model.requests) + chance.randint(1, 2)
            try:
                await asyncio.wait_for(frozen(process, model, due, background=bool(settings)), 90)
            except TimeoutError:
                waiting = (
                    f"{len(model.requests)} of {due} requests, {model.in_flight}, {model.responses.unfetched} unseen"
                )
                pytest.fail(f"the run stands still: {waiting}; {await handle.describe()}")
            process.send_signal(signal.SIGKILL)
            await process.wait()
            interrupted += await in_flight(client, handle.id)
    async with worker_process(environment, folder / "worker.log"):
        result = await asyncio.wait_for(handle.result(), 120)
        _, completed = await finished(client, handle.id)
    return result, of_roles(completed), interrupted


KILLS = 10 if RUN_ALL else 1
"""Kills of a drill at random moments; the long form takes minutes."""


@exhaustive
@pytest.mark.timeout(600)
async def test_no_finished_call_is_repeated_whenever_the_worker_is_killed(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    """Killed at random moments, the run asks again at most what was in flight, and counts what arrived."""
    with ModelServer() as model:
        result, completed, interrupted = await killed_at_random(server.client, model, tmp_path, 11, KILLS)
    asked = Counter(request.schema_name for request in model.requests if request.schema_name)
    assert result.status == "done"
    assert completed <= asked <= completed + interrupted


@exhaustive
@pytest.mark.timeout(600)
async def test_background_responses_are_paid_once_whenever_the_worker_is_killed(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    """With responses in the background a kill repeats nothing: every response is fetched and counted once."""
    with ModelServer() as model:
        result, completed, _ = await killed_at_random(
            server.client, model, tmp_path, 12, KILLS, TENURE_MODEL_API="responses"
        )
    assert result.status == "done"
    assert all(entry.delivered for entry in model.billed)
    assert len(model.billed) == result.usage.model_calls == sum(completed.values())
    assert (result.usage.tokens_in, result.usage.tokens_out) == model.tokens
