"""The archive of an owner's runs is as private as their histories."""

from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.result.result import Result
from tenure.temporal.archive.container import decode_run
from tenure.temporal.archive.reading import ArchivedHistories
from tenure.temporal.converter import make_data_converter
from tenure.temporal.encryption import DecryptionError
from tests.conftest import open_archive, serving_at
from tests.support.histories import wait_until_archived
from tests.support.worlds import KITCHEN, MemoryKnowledge
from tests.temporal.test_owner_payloads import client_of, settings_of
from tests.workflows.run.test_agent import REQUEST
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE


async def test_an_archived_run_is_readable_for_its_owner_alone(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """No word of question and report is stored in plain text, and only the owner's token decrypts them."""
    request = REQUEST.model_copy(update={"question": "Is rye bread sour?"})
    ann = client_of(server, "ann")
    serving = serving_at(ann, 1000, tmp_path)
    async with serving(None, MemoryKnowledge(KITCHEN)):
        run = await ann.start_workflow(
            AgentWorkflow.run,
            request,
            id=f"test-{uuid4().hex[:8]}",
            task_queue=TENURE_QUEUE,
            memo={"question": request.question},
        )
        result = await run.result()
        await wait_until_archived(server.client)
    archived = open_archive(tmp_path).find_run(run.id)
    assert archived is not None
    tree = decode_run(archived.archive)
    stored = b"".join(history.SerializeToString() for history in tree.histories.values())
    files = b"".join(path.read_bytes() for path in (tmp_path / "archive").rglob("*") if path.is_file())
    sources = {name: ArchivedHistories(tree, make_data_converter(settings_of(name))) for name in ("ann", "bob")}
    payloads = (await sources["ann"].fetch_last_event(run.id)).workflow_execution_completed_event_attributes.result

    assert await sources["ann"].converter.decode(payloads.payloads, [Result]) == [result]
    with pytest.raises(DecryptionError, match="belongs to the owner 'ann'"):
        await sources["bob"].converter.decode(payloads.payloads, [Result])
    assert run.id.encode() in stored and run.id.encode() in files
    for word in (b"rye", b"bread", b"flour", b"Bread", b"sour"):
        assert word not in stored and word not in files and word not in archived.description.question
