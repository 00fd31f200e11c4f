"""Histories of owners on a real server, read with and without the token of their owner."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.api.common.v1 import Payload
from temporalio.client import Client
from temporalio.converter import ActivitySerializationContext, WorkflowSerializationContext
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from activities.model_call_tracking import _record_progress
from activities.ownership import Owners
from tenure.contracts.run.control import RunCommand
from tenure.contracts.run.role_calls import CallProgress
from tenure.contracts.run.run import RunRequest
from tenure.settings import Settings
from tenure.temporal.converter import make_data_converter
from tenure.temporal.encryption import DecryptionError
from tenure.temporal.owner_client import OwnerClientInterceptor
from tenure.temporal.owner_codec import MissingOwnerKey, OwnerCodec
from tests.conftest import serving_at
from tests.support.tiers import slow
from tests.support.worlds import KITCHEN, MemoryKnowledge
from tests.workflows.run.test_agent import REQUEST
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

TOKENS = {"ann": "a" * 32, "bob": "b" * 32}
PLAIN = Payload(metadata={"encoding": b"json/plain"}, data=b'"rye"')


def settings_of(owner: str) -> Settings:
    """Return the settings of a command."""
    return Settings(_env_file=None, owner=owner, owner_token=TOKENS[owner])  # type: ignore[arg-type]


def client_of(server: WorkflowEnvironment, settings: Settings) -> Client:
    """Return the client that the settings describe."""
    return Client(
        server.client.service_client,
        namespace=server.client.namespace,
        data_converter=make_data_converter(settings),
        interceptors=OwnerClientInterceptor.from_settings(settings, server.client.namespace),
    )


def bound(codec: OwnerCodec, workflow: str) -> OwnerCodec:
    """Return a codec for a workflow."""
    return codec.with_context(WorkflowSerializationContext(namespace="default", workflow_id=workflow))


def test_a_payload_is_encrypted_for_the_owner_of_its_workflow() -> None:
    """Only the worker and the owner decrypt it; a token that is wrong does not."""
    worker, ann = OwnerCodec(TOKENS), OwnerCodec({"ann": TOKENS["ann"]}, "ann")
    sealed = bound(worker, "ann~run/research").encrypt(PLAIN)

    assert b"rye" not in sealed.SerializeToString()
    assert worker.decrypt(sealed) == ann.decrypt(sealed) == PLAIN
    with pytest.raises(DecryptionError, match="belongs to the owner 'ann'"):
        OwnerCodec({"bob": TOKENS["bob"]}, "bob").decrypt(sealed)
    with pytest.raises(DecryptionError):
        OwnerCodec({"ann": "x" * 32}, "ann").decrypt(sealed)


def test_workflows_without_an_owner_keep_the_keys_of_the_settings() -> None:
    """Upkeep is encrypted with the configured key, or not at all without one; a client always uses its own."""
    keys = {"k": bytes(32)}

    assert bound(OwnerCodec(TOKENS), "maintenance-1").encrypt(PLAIN) == PLAIN
    assert bound(OwnerCodec(TOKENS, keys=keys), "maintenance-1").encrypt(PLAIN).metadata["tenure-key-id"] == b"k"
    assert OwnerCodec({"ann": TOKENS["ann"]}, "ann", keys).encrypt(PLAIN).metadata["tenure-key-id"] == b"owner:ann"
    assert OwnerCodec(TOKENS).decrypt(PLAIN) == PLAIN


def test_a_payload_without_a_known_owner_is_refused() -> None:
    """Neither plain text nor a key that all owners have takes the place of the owner's key."""
    for codec in (OwnerCodec(TOKENS), OwnerCodec(TOKENS, keys={"k": bytes(32)})):
        for unbound in (
            codec,
            bound(codec, "eve~run"),
            bound(bound(codec, "ann~run"), "eve~run/spiral"),
            codec.with_context(ActivitySerializationContext("default", "1", "ask", "queue", None, None, False)),
        ):
            with pytest.raises(MissingOwnerKey):
                unbound.encrypt(PLAIN)


def test_runs_from_before_owners_get_the_key_of_the_default_owner() -> None:
    """An id without an owner belongs to `TENURE_DEFAULT_OWNER`."""
    codec = OwnerCodec.from_settings(Settings(_env_file=None, owners=TOKENS, default_owner="bob"))  # type: ignore[arg-type]
    assert codec is not None
    assert bound(codec, "research-1").encrypt(PLAIN).metadata["tenure-key-id"] == b"owner:bob"
    assert bound(codec, "ann~research-1").encrypt(PLAIN).metadata["tenure-key-id"] == b"owner:ann"


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

    worker = client_of(server, Settings(_env_file=None, owners=TOKENS))  # type: ignore[arg-type]
    queue = f"records-{uuid4().hex[:8]}"
    async with Worker(
        worker,
        task_queue=queue,
        workflows=[RecordingWorkflow],
        activities=[record],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):
        run = await worker.start_workflow("RecordingWorkflow", id=f"ann~{queue}", task_queue=queue)
        await recorded.wait()
        description = await run.describe()
        release.set()
        await run.result()

    details = description.raw_description.pending_activities[0].heartbeat_details.payloads
    assert [payload.metadata["tenure-key-id"] for payload in details] == [b"owner:ann"]
    assert b"resp_rye" not in description.raw_description.SerializeToString()
    [read] = await make_data_converter(settings_of("ann")).decode(details, [CallProgress])
    assert read == CallProgress(response_id="resp_rye")


@slow
async def test_a_history_says_nothing_to_others(server: WorkflowEnvironment, tmp_path: object) -> None:
    """Question, passages, report, commands, memo and summaries of a run are readable for its owner alone."""
    worker = Settings(_env_file=None, owners=TOKENS)  # type: ignore[arg-type]
    knowledge = MemoryKnowledge(KITCHEN)
    request: RunRequest = REQUEST.model_copy(update={"corpora": ("ann~kitchen",), "question": "How is bread made?"})
    ann = client_of(server, settings_of("ann"))
    serving = serving_at(client_of(server, worker), 1000, tmp_path)  # type: ignore[arg-type]
    async with serving(None, knowledge, owners=Owners(TOKENS)):
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
            await client_of(server, settings_of("bob")).get_workflow_handle(run.id).result()

    assert result.status == "done" and "bread" in result.model_dump_json().lower()
    assert b"bread" not in seen.lower()
    assert all(word not in seen for word in (b"Bread", b"flour", b"yeast", TOKENS["ann"].encode()))
