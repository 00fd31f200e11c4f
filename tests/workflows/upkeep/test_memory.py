"""Workflows on memories: consolidation, search, list and deletion."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from temporalio.client import ScheduleActionStartWorkflow
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.knowledge.maintenance import UpkeepReport
from tenure.contracts.knowledge.memory import (
    ForgetRequest,
    MemoriesRequest,
    MemoryReply,
    MemoryRequest,
    MemorySearchRequest,
    NewMemory,
    RememberRequest,
    WriteMemoryRequest,
)
from tenure.knowledge.base import KnowledgeBase
from tenure.settings import Settings
from tenure.temporal.schedules import make_upkeep_id, schedule_upkeep
from tests.conftest import Serving
from tests.knowledge.word_vectors import WordVectors
from workflows.runtime.task_queues import TENURE_QUEUE
from workflows.upkeep.knowledge import MemoryWorkflow
from workflows.upkeep.maintenance import ConsolidationWorkflow

NOW = datetime(2030, 1, 1, tzinfo=UTC)


async def test_memories_are_consolidated_and_listed(serving: Serving, tmp_path: Path) -> None:
    """The five steps run in order on a real knowledge base; the remaining memories are found, listed and forgotten."""
    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    said = tuple(NewMemory(text=text, kind="long_term") for text in ("Bees dance.", "bees dance", "Bread bakes."))
    knowledge.memories.remember(RememberRequest(memories=said[:1], owner="ann", now=NOW))
    knowledge.memories.remember(RememberRequest(memories=said, now=NOW))
    request = MemoryRequest(
        forget=ForgetRequest(owner="ann", all_memories=True),
        search=MemorySearchRequest(query="bees dance", now=NOW),
        page=MemoriesRequest(),
    )
    async with serving(None, cast(Any, knowledge)) as stage:
        ids = [f"{name}-{uuid4().hex[:8]}" for name in ("consolidation", "memory")]
        report: list[UpkeepReport] = await stage.client.execute_workflow(
            ConsolidationWorkflow.run, id=ids[0], task_queue=TENURE_QUEUE
        )
        reply: MemoryReply = await stage.client.execute_workflow(
            MemoryWorkflow.run, request, id=ids[1], task_queue=TENURE_QUEUE
        )

    assert [step.step for step in report] == ["embed", "promote", "compare", "abstract", "forget"]
    assert (reply.forgotten.forgotten, reply.page.total) == (1, 2)
    assert [one.memory.text for one in reply.found.memories] == ["Bees dance."]


async def test_memories_are_written_before_they_are_listed(serving: Serving, tmp_path: Path) -> None:
    """A memory that a person writes is on the page of the same request, and can be edited by its id."""
    knowledge = KnowledgeBase(str(tmp_path / "knowledge"), WordVectors())
    write = WriteMemoryRequest(text="We use metric units.", kind="preference", owner="ann", now=NOW)
    async with serving(None, cast(Any, knowledge)) as stage:

        async def send(request: MemoryRequest) -> MemoryReply:
            id = f"memory-{uuid4().hex[:8]}"
            return await stage.client.execute_workflow(MemoryWorkflow.run, request, id=id, task_queue=TENURE_QUEUE)

        added = await send(MemoryRequest(write=write, page=MemoriesRequest(owner="ann")))
        [memory] = added.page.memories
        edit = write.model_copy(update={"text": "We use SI units.", "replaces": memory.id, "kind": None})
        edited = await send(MemoryRequest(write=edit))

    assert added.written.memory == memory
    assert edited.written.memory == memory.model_copy(update={"text": "We use SI units."})


async def test_consolidation_has_its_own_schedule(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """The consolidation has the interval of the settings, and 0 removes its schedule."""
    settings = Settings(home=tmp_path, maintenance_hours=0, consolidation_hours=12, archive_hours=0)
    handle = server.client.get_schedule_handle(make_upkeep_id("consolidation", settings.knowledge_uri))
    await schedule_upkeep(server.client, settings)
    made = (await handle.describe()).schedule
    await schedule_upkeep(server.client, settings.model_copy(update={"consolidation_hours": 0}))

    assert isinstance(made.action, ScheduleActionStartWorkflow)
    assert (made.action.workflow, made.spec.intervals[0].every.total_seconds()) == ("ConsolidationWorkflow", 43_200)
    with pytest.raises(RPCError, match="not found"):
        await handle.describe()
