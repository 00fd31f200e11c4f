"""Versions of workers on a real server, whose queues no other test uses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from structlog.testing import capture_logs
from temporalio import activity, workflow
from temporalio.client import Client, WorkflowHandle
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from tenure.temporal import deployment
from tenure.temporal.deployment import (
    VersioningRefused,
    check_version,
    count_running_workflows,
    is_earlier_version,
    list_polled_queues,
    make_current,
    make_deployment_config,
    read_current_build_id,
    read_states,
)
from tests.support.servers.temporal_server import SERVER_OPTIONS, run_temporal_server
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from workflows.runtime.task_queues import MODEL_QUEUE, TENURE_QUEUE


@workflow.defn(name="Child")
class Child:
    """Child that calls an activity of another queue."""

    @workflow.run
    async def run(self) -> str:
        version: str = await workflow.execute_activity(
            "name_version", task_queue=MODEL_QUEUE, start_to_close_timeout=timedelta(seconds=30), result_type=str
        )
        return version


@workflow.defn(name="Parent")
class EarlierParent:
    """Workflow that waits, and then calls a child."""

    def __init__(self) -> None:
        self.released = False

    @workflow.run
    async def run(self) -> str:
        await workflow.wait_condition(lambda: self.released)
        return await workflow.execute_child_workflow(Child.run)

    @workflow.signal
    def release(self) -> None:
        self.released = True


@workflow.defn(name="Parent")
class LaterParent(EarlierParent):
    """The same workflow with a step more at its beginning, which no history of the earlier one has."""

    @workflow.run
    async def run(self) -> str:
        await workflow.sleep(0.01)
        return await super().run()


@workflow.defn(name="Continuing")
class Continuing:
    """Workflow that continues as new once, and returns the version of each of its histories."""

    def __init__(self) -> None:
        self.released = False

    @workflow.run
    async def run(self, versions: list[str], upgrades: bool) -> list[str]:
        version = await workflow.execute_activity(
            "name_version", start_to_close_timeout=timedelta(seconds=30), result_type=str
        )
        if versions:
            return [*versions, version]
        await workflow.wait_condition(lambda: self.released)
        behavior = workflow.ContinueAsNewVersioningBehavior
        workflow.continue_as_new(
            args=[[version], upgrades],
            initial_versioning_behavior=behavior.AUTO_UPGRADE if upgrades else behavior.UNSPECIFIED,
        )

    @workflow.signal
    def release(self) -> None:
        self.released = True


@pytest.fixture(scope="module")
async def versioned_server() -> AsyncIterator[Client]:
    """Client of a server of this module."""
    async with run_temporal_server() as server:
        yield server.client


@asynccontextmanager
async def serving(client: Client, build_id: str, parent: type, *queues: str) -> AsyncIterator[None]:
    """Run the workers of a version."""

    @activity.defn
    async def name_version() -> str:
        return build_id

    workers = [
        Worker(
            client,
            task_queue=queue,
            workflows=[parent, Child, Continuing] if queue == TENURE_QUEUE else [],
            activities=[name_version],
            workflow_runner=UnsandboxedWorkflowRunner(),
            deployment_config=make_deployment_config(build_id) if build_id else None,
        )
        for queue in queues or (TENURE_QUEUE, MODEL_QUEUE)
    ]
    async with workers[0]:
        if workers[1:]:
            async with workers[1]:
                yield
        else:
            yield


async def start(client: Client, id: str) -> WorkflowHandle[Any, str]:
    """Start a workflow and wait until its first step is taken."""
    handle = await client.start_workflow("Parent", id=id, task_queue=TENURE_QUEUE, result_type=str)
    await wait_until("a first step", partial(_has_steps, handle))
    return handle


async def _has_steps(handle: WorkflowHandle[Any, Any]) -> bool:
    return any(
        [event.HasField("workflow_task_completed_event_attributes") async for event in handle.fetch_history_events()]
    )


async def test_a_run_finishes_under_the_version_it_began_with(
    versioned_server: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps, child workflows and activities of a run stay with its version; new runs use the current one."""
    client = versioned_server
    async with serving(client, "a", EarlierParent):
        await make_current(client, "a", [TENURE_QUEUE, MODEL_QUEUE])
        first = await start(client, "first")
        async with serving(client, "b", LaterParent):
            await make_current(client, "b", [TENURE_QUEUE, MODEL_QUEUE])
            second = await start(client, "second")

            assert await read_current_build_id(client) == "b"
            await wait_until("the first run", lambda: count_running_workflows(client, "a"), lambda count: count == 1)
            assert await read_states(client, ["a", "b", "c"]) == {"a": "in_use", "b": "in_use", "c": "drained"}
            assert [await is_earlier_version(client, version) for version in ("a", "b", "c")] == [True, False, False]
            for handle in (first, second):
                await handle.signal("release")
            assert [await first.result(), await second.result()] == ["a", "b"]
            await wait_until(
                "the end of the run", lambda: count_running_workflows(client, "a"), lambda count: not count
            )
            assert await read_states(client, ["a"]) == {"a": "in_use"}
            monkeypatch.setattr(deployment, "VISIBILITY_DELAY", timedelta(0))
            assert await read_states(client, ["a", "b"]) == {"a": "idle", "b": "in_use"}


@slow
async def test_runs_that_began_without_a_version_move_to_the_first_one(versioned_server: Client) -> None:
    """Work that waits for a worker reaches the version that becomes current, and comes back without versioning."""
    client = versioned_server
    await make_current(client, "", [])
    waiting = await client.start_workflow("Parent", id="waiting", task_queue=TENURE_QUEUE, result_type=str)
    await waiting.signal("release")
    async with serving(client, "d", EarlierParent):
        await make_current(client, "d", [TENURE_QUEUE, MODEL_QUEUE])
        assert await asyncio.wait_for(waiting.result(), 60) == "d"
        async with serving(client, "", EarlierParent):
            await make_current(client, "", [])
            unversioned = await start(client, "unversioned")
            await unversioned.signal("release")
            assert await asyncio.wait_for(unversioned.result(), 60) == ""
            assert await read_current_build_id(client) == ""


@slow
async def test_a_workflow_changes_its_version_only_where_it_asks_for_it(versioned_server: Client) -> None:
    """A history that continues as new stays with the version, or moves to the current one if the workflow says so."""
    client = versioned_server
    async with serving(client, "f", EarlierParent):
        await make_current(client, "f", [TENURE_QUEUE, MODEL_QUEUE])
        handles = [
            await client.start_workflow(
                "Continuing", args=[[], upgrades], id=f"continuing-{upgrades}", task_queue=TENURE_QUEUE
            )
            for upgrades in (False, True)
        ]
        for handle in handles:
            await wait_until("a first step", partial(_has_steps, handle))
        async with serving(client, "g", EarlierParent):
            await make_current(client, "g", [TENURE_QUEUE, MODEL_QUEUE])
            for handle in handles:
                await handle.signal("release")
            assert [await handle.result() for handle in handles] == [["f", "f"], ["f", "g"]]


@slow
async def test_a_version_waits_for_the_workers_of_its_queues(versioned_server: Client) -> None:
    """A fleet changes its version when workers of the new one poll all queues, not when the first one does."""
    client = versioned_server
    async with serving(client, "e", EarlierParent, TENURE_QUEUE):
        change = asyncio.create_task(make_current(client, "e", [TENURE_QUEUE, MODEL_QUEUE]))
        await wait_until("a poll", lambda: list_polled_queues(client, "e"), lambda queues: TENURE_QUEUE in queues)
        assert await read_current_build_id(client) != "e"
        async with serving(client, "e", EarlierParent, MODEL_QUEUE):
            await asyncio.wait_for(change, 60)
            assert await read_current_build_id(client) == "e"


@slow
async def test_a_worker_without_a_version_says_that_it_gets_no_work(versioned_server: Client) -> None:
    """An unversioned worker on a server whose new runs use a version names the option that it lacks."""
    async with serving(versioned_server, "h", EarlierParent):
        await make_current(versioned_server, "h", [TENURE_QUEUE, MODEL_QUEUE])
        with capture_logs() as logged:
            await check_version(versioned_server, "", [MODEL_QUEUE], has_versioning=True)

    assert [(one["log_level"], one["version"]) for one in logged] == [("warning", "h")]
    assert "--versioned" in logged[0]["event"]


@slow
async def test_a_server_without_versioning_is_named_with_the_remedy() -> None:
    """A server that does not take part says so in one line that names the setting."""
    without = ["--dynamic-config-value", "system.enableDeploymentVersions=false"]
    async with (
        run_temporal_server([*SERVER_OPTIONS, *without]) as server,
        serving(server.client, "a", EarlierParent),
    ):
        with pytest.raises(VersioningRefused, match="set TENURE_WORKER_VERSIONING=off"):
            await make_current(server.client, "a", [TENURE_QUEUE])
        with pytest.raises(VersioningRefused):
            await read_current_build_id(server.client)
