"""Test the display of answers that are arriving, against a real server and the stub worker."""

import asyncio
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tenure.contracts.coding.repositories import SetupProgress
from tenure.contracts.run.role_calls import CallProgress
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.openai.chat import OpenAIChat
from tenure.runs.session.run_tree import describe_run_tree
from tenure.runs.session.snapshot import RunningSetup, RunSnapshot, StreamedAnswer
from tenure.runs.session.streaming import read_running_setups, read_streamed_answers
from tenure.temporal.encryption import DecryptionError
from tests.cli.conftest import CommandLine
from tests.cli.progress.samples import WRITING, draw
from tests.conftest import serving_at
from tests.model_server import ModelServer
from tests.models.routes import routes
from tests.runs.session.test_diagnostics import watch_until
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from tests.support.worlds import KITCHEN, MemoryKnowledge
from tests.temporal.test_owner_payloads import client_of
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE


def test_arriving_answers_are_shown(running: CommandLine) -> None:
    """The display names what is being written and its number of tokens, once per step."""
    words = "writing the report: 312 tokens"
    assert running("start", "scribble please", "--id", "scribbling", "--detach").returncode == 0
    shown = watch_until(running, words, "scribbling")

    assert len([line for line in shown if words in line]) == 1
    assert not any("Rye" in line for line in shown)


REPORT = f"""# Bread rises twice [1]

Yeast makes it rise [1]. It is baked until it is brown [1].

## Bread

{"It rises once more before it is baked [1]. " * 20}
"""


@slow
async def test_a_report_is_read_while_it_is_written(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """The owner of a run reads the first sentences before the model has sent the others; another owner does not."""
    request = RunRequest(
        question="How is bread made?", corpora=("kitchen",), limits=RunLimits(min_relevance=0.0, max_sections=1)
    )
    ann, bob = (client_of(server, owner) for owner in ("ann", "bob"))
    with ModelServer() as model:
        model.on("outliner", {"topics": [{"heading": "Bread", "question": "How is bread made?"}]})
        model.on("report_writer", REPORT)
        chat = OpenAIChat(routes("m"), base_url=model.base_url)
        serving = serving_at(ann, 1000, tmp_path)
        async with serving(chat, MemoryKnowledge(KITCHEN)):
            with model.hold("report_writer", after_events=6):
                handle = await ann.start_workflow(
                    AgentWorkflow.run, request, id=f"test-{uuid4().hex[:8]}", task_queue=TENURE_QUEUE
                )
                (writing,) = await seen(ann, handle.id)
                with pytest.raises(DecryptionError, match="belongs to the owner 'ann'"):
                    await seen(bob, handle.id)
                members = [member async for member in describe_run_tree(server.client, handle.id)]
            result = await handle.result()
            left = [member async for member in describe_run_tree(server.client, handle.id)]
        await chat.aclose()

    assert REPORT.startswith(writing.text)
    assert writing.text.startswith("# Bread rises twice [1]\n\nYeast makes it rise [1]. It is baked")
    assert "Yeast makes it rise [1]." in draw(RunSnapshot(WRITING, streamed_answers=(writing,)))
    assert not any(b"Yeast makes" in member.SerializeToString() for member in (*members, *left))
    assert result.status == "done"
    assert "Yeast makes it rise" in result.model_dump_json()


@workflow.defn(name="WritingWorkflow")
class WritingWorkflow:
    """Workflow with one activity."""

    @workflow.run
    async def run(self, name: str = "report_writer") -> None:
        """Run the activity."""
        await workflow.execute_activity(
            name,
            start_to_close_timeout=timedelta(minutes=5),
            heartbeat_timeout=timedelta(minutes=5),
            retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=10)),
        )


async def test_the_text_of_a_failed_attempt_is_not_shown(server: WorkflowEnvironment) -> None:
    """The server keeps the details of an attempt that has failed until the next attempt sends others."""
    started, release = asyncio.Event(), asyncio.Event()

    @activity.defn(name="report_writer")
    async def write() -> None:
        if activity.info().attempt == 1:
            activity.heartbeat(CallProgress(tokens=3, text="the first"))
            raise ApplicationError("this attempt is over")
        started.set()
        await release.wait()
        activity.heartbeat(CallProgress(tokens=4, text="the second"))
        await asyncio.Event().wait()

    queue = f"writing-{uuid4().hex[:8]}"
    async with Worker(
        server.client,
        task_queue=queue,
        workflows=[WritingWorkflow],
        activities=[write],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        handle = await server.client.start_workflow("WritingWorkflow", id=queue, task_queue=queue)
        await started.wait()
        members = [member async for member in describe_run_tree(server.client, handle.id)]
        before = await read_streamed_answers(server.client, members)
        release.set()
        (after,) = await seen(server.client, handle.id)
        await handle.terminate()

    assert members[0].pending_activities[0].heartbeat_details.payloads
    assert (before, after) == ((), StreamedAnswer("writing the report", 4, "the second"))


async def test_a_set_up_that_runs_is_shown(server: WorkflowEnvironment) -> None:
    """Its command comes from its heartbeats, and its time from the server."""

    @activity.defn(name="set_up_environment")
    async def set_up() -> None:
        activity.heartbeat(SetupProgress(command="make all", max_seconds=1800))
        await asyncio.Event().wait()

    queue = f"setup-{uuid4().hex[:8]}"
    async with Worker(
        server.client,
        task_queue=queue,
        workflows=[WritingWorkflow],
        activities=[set_up],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        handle = await server.client.start_workflow("WritingWorkflow", "set_up_environment", id=queue, task_queue=queue)

        async def read() -> tuple[RunningSetup, ...]:
            members = [member async for member in describe_run_tree(server.client, handle.id)]
            return await read_running_setups(server.client, members)

        (setup,) = await wait_until("a set-up", read)
        await handle.terminate()

    assert (setup.command, setup.max_seconds) == ("make all", 1800) and 0 <= setup.seconds < 1800


async def seen(client: Client, run: str) -> tuple[StreamedAnswer, ...]:
    """Wait until a part of a run is being written."""

    async def read() -> tuple[StreamedAnswer, ...]:
        return await read_streamed_answers(client, [member async for member in describe_run_tree(client, run)])

    return await wait_until("a streamed answer", read)
