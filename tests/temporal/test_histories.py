"""Histories read from a real server, on which no worker runs any more."""

import asyncio
import base64
from pathlib import Path

import pytest
from pydantic import SecretStr
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner

from tenure.contracts.research.trace import Trace
from tenure.contracts.run.control import RunCommand
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.report.trace.story import build_trace
from tenure.settings import Settings
from tenure.temporal.converter import make_data_converter
from tenure.temporal.histories import ServerHistories, read_histories, read_history
from tests.cli.conftest import no_stack
from tests.conftest import Serving
from tests.support.tiers import exhaustive, slow
from tests.support.workers import PatientWorker
from tests.support.worlds import KITCHEN, MemoryKnowledge

with workflow.unsafe.imports_passed_through():
    from datetime import timedelta

QUEUE = "history"


@workflow.defn
class Listening:
    """Takes words until a person cancels."""

    @workflow.init
    def __init__(self) -> None:
        self.verbs: list[str] = []

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: "cancel" in self.verbs)

    @workflow.update
    def steer(self, steering: RunCommand) -> None:
        self.verbs.append(steering.name)


@activity.defn
async def count(number: int) -> dict[str, int]:
    """Count one on; refuse to count to three."""
    if number == 2:
        raise ApplicationError("three is too many", non_retryable=True)
    return {"next": number + 1}


@workflow.defn
class Counting:
    """Counts, each time in a new history."""

    @workflow.run
    async def run(self, number: int) -> None:
        reply = await workflow.execute_activity(count, number, start_to_close_timeout=timedelta(seconds=30))
        workflow.continue_as_new(reply["next"])


async def counted(client: Client, name: str) -> None:
    """Run a count to its failure, and stop the workers."""
    runner = UnsandboxedWorkflowRunner()
    async with PatientWorker(
        client, task_queue=QUEUE, workflows=[Counting], activities=[count], workflow_runner=runner
    ):
        with pytest.raises(WorkflowFailureError):
            await client.execute_workflow(Counting.run, 0, id=name, task_queue=QUEUE)


async def first_run(client: Client, name: str) -> str:
    """Return the first execution of a workflow that was continued as new."""
    description = await client.get_workflow_handle(name).describe()
    return str(description.raw_description.workflow_execution_info.first_run_id)


@slow
async def test_a_history_is_followed_through_its_continuations(server: WorkflowEnvironment) -> None:
    """A workflow continued as new has one history from its first argument to its last failure."""
    await counted(server.client, "continued")

    history = await read_history(
        ServerHistories(server.client), "continued", await first_run(server.client, "continued")
    )

    assert [(call.name, call.input, call.result) for call in history.recorded_events] == [
        ("count", 0, {"next": 1}),
        ("count", 1, {"next": 2}),
        ("count", 2, None),
    ]
    assert (history.input, history.status, history.continued_as) == (0, "failed", "")
    assert history.recorded_events[2].failure == history.failure == "three is too many"


@slow
async def test_encrypted_histories_are_read_with_the_keys(server: WorkflowEnvironment) -> None:
    """A converter with keys gives back what was encrypted, failures included."""
    key = base64.b64encode(bytes(range(32))).decode()
    config = server.client.config()
    config["data_converter"] = make_data_converter(Settings(encryption_keys=SecretStr(f"k:{key}"), _env_file=None))
    encrypted = Client(**config)
    await counted(encrypted, "secret")

    history = await read_history(ServerHistories(encrypted), "secret", await first_run(encrypted, "secret"))

    assert history.recorded_events[0].result == {"next": 1}
    assert history.failure == "three is too many"


@exhaustive
async def test_a_run_is_traced_when_no_worker_runs(serving: Serving, tmp_path: Path) -> None:
    """Without workers the command still prints a run's trace, as Markdown and as one JSON document."""
    limits = RunLimits(min_relevance=0.05, max_report_revisions=0)
    request = RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=limits)
    async with serving(None, MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(request)
        result = await handle.result()
    address = {"TEMPORAL_ADDRESS": stage.client.service_client.config.target_host}
    line = no_stack(tmp_path / "home")

    told = await asyncio.to_thread(line, "trace", handle.id, "--json", extra=address)
    read_by_a_person = await asyncio.to_thread(line, "trace", handle.id, extra=address)

    trace = Trace.model_validate_json(told.stdout)
    assert (told.returncode, trace.status, trace.decisions) == (0, "done", result.decisions)
    assert trace.cycles[0].plans[0].tasks[0].queries[0].found > 0
    assert {section.topic for section in trace.sections} == {section.topic for section in result.sections}
    assert read_by_a_person.stdout.startswith(f"# Trace of {handle.id}\n")
    assert trace == build_trace(await read_histories(ServerHistories(stage.client), handle.id))


async def test_updates_are_read_like_signals(server: WorkflowEnvironment) -> None:
    """Feedback sent as an update is in the trace like feedback sent as a signal."""
    runner = UnsandboxedWorkflowRunner()
    async with PatientWorker(server.client, task_queue=QUEUE, workflows=[Listening], workflow_runner=runner):
        handle = await server.client.start_workflow(Listening.run, id="listening", task_queue=QUEUE)
        await handle.execute_update(Listening.steer, RunCommand(name="feedback", text="More.", topic="Bread"))
        await handle.execute_update(Listening.steer, RunCommand(name="cancel"))
        await handle.result()
    history = await read_history(ServerHistories(server.client), "listening")
    heard = [one for one in history.recorded_events if one.kind == "signal_received"]

    assert [(one.name, one.input["text"]) for one in heard] == [("feedback", "More."), ("cancel", "")]
