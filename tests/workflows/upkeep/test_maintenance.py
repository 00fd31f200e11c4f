"""The maintenance workflow and its schedule."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.client import Client, ScheduleOverlapPolicy
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.knowledge.maintenance import UpkeepReport
from tenure.settings import Settings
from tenure.temporal.schedules import make_upkeep_id, schedule_upkeep
from tests.conftest import Serving
from tests.support.schedules import wait_for_action
from tests.support.worlds import MemoryKnowledge
from workflows.runtime.task_queues import TENURE_QUEUE
from workflows.upkeep.maintenance import MaintenanceWorkflow


async def test_steps_are_executed_in_order(serving: Serving) -> None:
    """Compaction, indexes and old versions are one activity each, and the status page shows their results."""
    async with serving(None, MemoryKnowledge({})) as stage:
        handle = await stage.client.start_workflow(
            MaintenanceWorkflow.run, id=f"maintenance-{uuid4().hex[:8]}", task_queue=TENURE_QUEUE
        )
        report: list[UpkeepReport] = await handle.result()
        history = await handle.fetch_history()
        page = await handle.query("__temporal_workflow_metadata")
    started = [
        event.activity_task_scheduled_event_attributes.activity_type.name
        for event in history.events
        if event.HasField("activity_task_scheduled_event_attributes")
    ]

    assert started == ["maintain_tables"] * 3
    assert [step.step for step in report] == ["compact", "index", "clean"]
    assert "build and refresh indexes: 1 tables, 2 changes" in str(page)
    assert "cannot be read" in str(page)


@pytest.fixture
def cached_workflows() -> int:
    """Keep workflows in the cache, so that the query after the end finds its workflow."""
    return 1000


def settings(tmp_path: Path, hours: float) -> Settings:
    return Settings(home=tmp_path, maintenance_hours=hours, consolidation_hours=0, archive_hours=0)


async def test_schedule_follows_the_settings(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Each home has one schedule without overlaps; a changed interval is applied and a pause is kept."""
    client = server.client
    handle = client.get_schedule_handle(make_upkeep_id("maintenance", settings(tmp_path, 6).knowledge_uri))
    await schedule_upkeep(client, settings(tmp_path, 6))
    first = (await handle.describe()).schedule
    await handle.pause(note="not now")
    await schedule_upkeep(client, settings(tmp_path, 2))
    second = (await handle.describe()).schedule
    await schedule_upkeep(client, settings(tmp_path, 0))
    await schedule_upkeep(client, settings(tmp_path, 0))

    assert first.policy.overlap == ScheduleOverlapPolicy.SKIP
    assert [interval.every for interval in first.spec.intervals] == [timedelta(hours=6)]
    assert [interval.every for interval in second.spec.intervals] == [timedelta(hours=2)]
    assert (first.state.paused, second.state.paused, second.state.note) == (False, True, "not now")
    with pytest.raises(RPCError, match="not found"):
        await handle.describe()


async def test_schedule_starts_a_maintenance(serving: Serving, tmp_path: Path) -> None:
    """A maintenance started by the schedule completes on the worker's queues."""
    async with serving(None, MemoryKnowledge({})) as stage:
        await schedule_upkeep(stage.client, settings(tmp_path, 6))
        handle = stage.client.get_schedule_handle(make_upkeep_id("maintenance", settings(tmp_path, 6).knowledge_uri))
        await handle.trigger()
        run_id = await wait_for_action(handle)
        await stage.client.get_workflow_handle(run_id).result()
        await handle.delete()

    assert run_id.startswith(make_upkeep_id("maintenance", settings(tmp_path, 6).knowledge_uri))


async def test_refused_schedule_does_not_stop_the_worker(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A missing namespace refuses the schedule, and the worker continues."""
    foreign = Client(server.client.service_client, namespace="nowhere")

    await schedule_upkeep(foreign, settings(tmp_path, 6))


def test_homes_and_shared_stores_have_separate_schedules(tmp_path: Path) -> None:
    """Two homes have two schedules; two workers on one object store have one."""
    one, two = Settings(home=tmp_path / "one"), Settings(home=tmp_path / "two")
    shared = {
        make_upkeep_id("maintenance", home.model_copy(update={"lancedb_uri": "s3://bucket/base"}).knowledge_uri)
        for home in (one, two)
    }

    assert make_upkeep_id("maintenance", one.knowledge_uri) != make_upkeep_id("maintenance", two.knowledge_uri)
    assert len(shared) == 1
