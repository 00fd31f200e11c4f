"""The archive of an owner's runs is as private as their histories."""

import gzip
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.result.result import Result
from tenure.temporal.archive.container import ArchivedRunSource, decode_run
from tenure.temporal.converter import make_data_converter
from tenure.temporal.encryption import DecryptionError
from tenure.temporal.histories import ServerRun
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
        story = await ServerRun(server.client, run.id).fetch_story()
    archived = open_archive(tmp_path).find_run(run.id)
    assert archived is not None
    document = decode_run(archived.archive)
    assert story is not None
    kept = (document.request, document.result, story.SerializeToString(), document.research, *document.cycles)
    stored = gzip.decompress(archived.archive) + b"".join(payload or b"" for payload in kept)
    files = b"".join(path.read_bytes() for path in (tmp_path / "archive").rglob("*") if path.is_file())
    ann_reads, bob_reads = (make_data_converter(settings_of(name)) for name in ("ann", "bob"))
    end = await ArchivedRunSource(document, ann_reads).fetch_end()
    assert end.result and document.cycles

    assert await ann_reads.decode([end.result], [Result]) == [result]
    with pytest.raises(DecryptionError, match="belongs to the owner 'ann'"):
        await bob_reads.decode([end.result], [Result])
    assert run.id.encode() in stored and run.id.encode() in files
    for word in (b"bread", b"flour", b"Bread", b"sour"):
        assert word not in stored and word not in files and word not in archived.description.question
