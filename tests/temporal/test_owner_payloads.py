"""Histories of owners on a real server, read and written with and without the token of their owner."""

import asyncio
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.model_call_tracking import _record_progress
from tenure.contracts.run.control import RunCommand
from tenure.contracts.run.role_calls import CallProgress
from tenure.contracts.run.run import RunRequest
from tenure.settings import Settings
from tenure.temporal.converter import make_data_converter
from tenure.temporal.encryption import DecryptionError, EncryptionCodec, generate_key
from tests.conftest import serving_at
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from tests.support.worlds import KITCHEN, MemoryKnowledge
from tests.workflows.run.test_agent import REQUEST
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

TOKENS = {"ann": "a" * 32, "bob": "b" * 32}
PLAIN = Payload(metadata={"encoding": b"json/plain"}, data=b'"rye"')


def settings_of(owner: str) -> Settings:
    """Return the settings of the command of an owner."""
    return Settings(_env_file=None, owner=owner, owner_token=TOKENS[owner])  # type: ignore[arg-type]


def client_of(server: WorkflowEnvironment, owner: str) -> Client:
    """Return a client of the server that encrypts as an owner does, in the namespace of the server's own client."""
    return Client(
        server.client.service_client,
        namespace=server.client.namespace,
        data_converter=make_data_converter(settings_of(owner)),
    )


def codec_of(settings: Settings) -> EncryptionCodec:
    """Return the codec that settings with keys describe."""
    codec = EncryptionCodec.from_settings(settings)
    assert codec is not None
    return codec


def test_a_payload_is_encrypted_for_its_owner() -> None:
    """Only the own token decrypts it; that of another owner, a wrong one and the keys of the settings do not."""
    settings = settings_of("ann")
    sealed = codec_of(settings).encrypt(PLAIN)

    assert b"rye" not in sealed.SerializeToString()
    assert codec_of(settings).decrypt(sealed) == PLAIN
    for other in (settings_of("bob"), Settings(_env_file=None, encryption_keys=generate_key())):  # type: ignore[arg-type]
        with pytest.raises(DecryptionError, match="belongs to the owner 'ann'"):
            codec_of(other).decrypt(sealed)
    with pytest.raises(DecryptionError, match="modified"):
        codec_of(settings.model_copy(update={"owner_token": settings_of("bob").owner_token})).decrypt(sealed)


def test_plain_payloads_are_refused_for_owners() -> None:
    """A plain payload proves no token; next to owners, the namespace without a name refuses it if it has keys."""
    keys = generate_key()
    alone = Settings(_env_file=None, encryption_keys=keys)  # type: ignore[arg-type]
    served = Settings(_env_file=None, encryption_keys=keys, owners=TOKENS).list_owners()  # type: ignore[arg-type]

    assert codec_of(alone).decrypt(PLAIN) == PLAIN
    assert [settings.owner for settings in served] == ["", "ann", "bob"]
    for settings in (settings_of("ann"), *served):
        with pytest.raises(DecryptionError, match="is refused"):
            codec_of(settings).decrypt(PLAIN)


@workflow.defn(name="RecordingWorkflow")
class RecordingWorkflow:
    """Workflow with one activity that records the id of a response."""

    @workflow.run
    async def run(self) -> None:
        """Run the activity."""
        await workflow.execute_activity("record", start_to_close_timeout=timedelta(minutes=5))


async def test_the_record_of_a_response_is_encrypted_for_the_owner(server: WorkflowEnvironment) -> None:
    """The heartbeat that records a background response says nothing to others, and its owner reads it."""
    recorded, release = asyncio.Event(), asyncio.Event()

    @activity.defn
    async def record() -> None:
        await _record_progress(CallProgress(response_id="resp_rye"))
        recorded.set()
        await release.wait()

    worker, queue = client_of(server, "ann"), f"records-{uuid4().hex[:8]}"
    async with Worker(
        worker,
        task_queue=queue,
        workflows=[RecordingWorkflow],
        activities=[record],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        run = await worker.start_workflow("RecordingWorkflow", id=queue, task_queue=queue)
        await recorded.wait()
        description = await run.describe()
        release.set()
        await run.result()

    details = description.raw_description.pending_activities[0].heartbeat_details.payloads
    assert [payload.metadata["tenure-key-id"] for payload in details] == [b"owner:ann"]
    assert b"resp_rye" not in description.raw_description.SerializeToString()
    [read] = await make_data_converter(settings_of("ann")).decode(details, [CallProgress])
    assert read == CallProgress(response_id="resp_rye")


@workflow.defn(name="EchoWorkflow")
class EchoWorkflow:
    """Workflow that records what it is given."""

    given: list[str] = []

    @workflow.run
    async def run(self, text: str) -> str:
        """Return the text."""
        self.given.append(text)
        return text


async def test_a_start_without_the_token_is_not_executed(server: WorkflowEnvironment) -> None:
    """On a server without access control, a workflow of an owner is executed only if the owner's key started it."""
    queue = f"forged-{uuid4().hex[:8]}"
    ann = client_of(server, "ann")
    async with Worker(ann, task_queue=queue, workflows=[EchoWorkflow], workflow_runner=UnsandboxedWorkflowRunner()):
        forged = [
            await client.start_workflow("EchoWorkflow", "forged", id=f"{queue}-{number}", task_queue=queue)
            for number, client in enumerate((server.client, client_of(server, "bob")))
        ]
        for handle in forged:
            await wait_until(
                "a second attempt",
                handle.describe,
                lambda found: found.raw_description.pending_workflow_task.attempt > 1,
            )
        genuine = await ann.execute_workflow("EchoWorkflow", "genuine", id=queue, task_queue=queue)
        for handle in forged:
            await handle.terminate()

    assert genuine == "genuine"
    assert EchoWorkflow.given == ["genuine"]


@slow
async def test_a_history_says_nothing_to_others(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Question, passages, report, commands, memo and summaries of a run are readable for its owner alone."""
    request: RunRequest = REQUEST.model_copy(update={"question": "How is bread made?"})
    ann = client_of(server, "ann")
    serving = serving_at(ann, 1000, tmp_path)
    async with serving(None, MemoryKnowledge(KITCHEN)):
        run = await ann.start_workflow(
            AgentWorkflow.run,
            request,
            id=f"test-{uuid4().hex[:8]}",
            task_queue=TENURE_QUEUE,
            memo={"question": request.question},
            static_summary=request.question,
            static_details=request.question,
        )
        await run.execute_update("steer", RunCommand(name="feedback", text="More bread!"))
        result = await run.result()
        seen = b""
        for id in (run.id, f"{run.id}/research", f"{run.id}/spiral"):
            history = await server.client.get_workflow_handle(id).fetch_history()
            seen += b"".join(event.SerializeToString() for event in history.events)
        seen += (await server.client.get_workflow_handle(run.id).describe()).raw_description.SerializeToString()
        with pytest.raises(DecryptionError, match="belongs to the owner 'ann'"):
            await client_of(server, "bob").get_workflow_handle(run.id).result()

    assert result.status == "done" and "bread" in result.model_dump_json().lower()
    assert b"bread" not in seen.lower()
    assert all(word not in seen for word in (b"Bread", b"flour", b"yeast", TOKENS["ann"].encode()))
