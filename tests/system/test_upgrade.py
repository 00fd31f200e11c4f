"""Changes of the code under running work, with a real server and real workers of several versions."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psutil
import pytest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey

from benchmarks.durability.source_copy import SourceCopy, change_algorithm, reorder_workflow
from benchmarks.durability.upgrade import (
    HELD_ROLE,
    LIMITS,
    count_answers,
    list_repeated_calls,
    tabulate,
    upgrade,
    wait_until_drained,
    write_documents,
)
from benchmarks.durability.upgrade import UpgradedRun as Ended
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunRequest
from tenure.temporal.deployment import read_current_build_id
from tenure.temporal.stack.record import load
from tests.model_server import ModelServer
from tests.support.temporal_server import run_temporal_server
from tests.support.tiers import RUN_ALL, exhaustive, slow
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import (
    BROWSER_QUEUE,
    EMBED_QUEUE,
    INGEST_QUEUE,
    MODEL_QUEUE,
    SEARCH_QUEUE,
    TENURE_QUEUE,
    WEB_QUEUE,
)

VERSION_ATTRIBUTE = SearchAttributeKey.for_keyword("TemporalWorkerDeploymentVersion")
RUNS = 20 if RUN_ALL else 3

pytestmark = [slow, pytest.mark.timeout(900)]


async def test_runs_of_three_versions_finish_under_their_own(tmp_path: Path) -> None:
    """Two changes of the code and a kill of the earlier workers repeat no finished call and lose no run."""
    with ModelServer() as model:
        ended = await upgrade(tmp_path / "upgrade", model, RUNS)
        rows = tabulate(model, ended)

    assert [row["finished"] for row in rows] == [row["runs"] for row in rows]
    assert sum(run.result is not None and run.result.status == "done" for run in ended) == RUNS
    assert [len(list(row["build_ids"])) for row in rows] == [1, 1, 1]  # type: ignore[call-overload]
    assert len({run.version for run in ended}) == 3
    assert [row["finished_calls_repeated"] for row in rows] == [0, 0, 0]
    assert [row["answers"] for row in rows] == [row["answers_used"] for row in rows]


@exhaustive
async def test_a_run_survives_a_crash_and_a_change_of_the_code_together(tmp_path: Path) -> None:
    """A worker killed with -9 whose source has changed since is started again from its copy, and the run ends."""
    with ModelServer() as model:
        copy = SourceCopy(tmp_path / "copy", model.environment)
        try:
            with model.hold(HELD_ROLE) as gate:
                await asyncio.to_thread(copy.run, "up")
                client = await copy.connect()
                first = load(copy.home)
                handle = await client.start_workflow(
                    AgentWorkflow.run, _request(tmp_path / "copy"), id="crashed", task_queue=TENURE_QUEUE
                )
                assert await asyncio.to_thread(gate.arrived.wait, 120)
                assert first.worker is not None
                os.kill(first.worker.pid, signal.SIGKILL)
                psutil.Process(first.worker.pid).wait(30)
                reorder_workflow(copy)
                change_algorithm(copy)
                said = await asyncio.to_thread(copy.run, "up")
                assert f"the worker of version {first.build_id} was started again" in said
                assert load(copy.home).build_id != first.build_id
            result = await asyncio.wait_for(handle.result(), 300)
            ended = Ended("7", 1, first.build_id, result)
            answers = count_answers(model, ended)
            repeated = list_repeated_calls(model, ended)
            await wait_until_drained(copy)
            await _check_commands(copy, first.build_id)
            await _check_broken_code(copy)
        finally:
            await asyncio.to_thread(copy.run, "down")

    assert (result.status, repeated) == ("done", [])
    assert result.usage.model_calls == answers


async def test_a_fleet_split_by_queues_changes_its_version(tmp_path: Path) -> None:
    """Workers of single queues are one version together: runs of two versions finish next to each other."""
    with ModelServer() as model:
        home = {**model.environment, "TENURE_HOME": str(tmp_path / "home"), "TENURE_DOCUMENT_ROOTS": str(tmp_path)}
        earlier = SourceCopy(tmp_path / "earlier", home)
        later = SourceCopy(tmp_path / "later", home)
        reorder_workflow(later)
        async with run_temporal_server() as server:
            client, seen = server.client, list[str]()
            request = _request(tmp_path)
            async with AsyncExitStack() as running:
                with model.hold(HELD_ROLE):
                    handles = []
                    for number, copy in enumerate((earlier, later)):
                        await running.enter_async_context(_fleet(copy, client))
                        await _wait_for_another_version(client, seen)
                        handles.append(
                            await client.start_workflow(
                                AgentWorkflow.run, request, id=f"fleet-{number}", task_queue=TENURE_QUEUE
                            )
                        )
                        await _wait_for_held_calls(model, number + 1)
                results = [await asyncio.wait_for(handle.result(), 300) for handle in handles]
                versions = [
                    (await handle.describe()).typed_search_attributes.get(VERSION_ATTRIBUTE) for handle in handles
                ]

    assert [result.status for result in results] == ["done", "done"]
    assert versions == [f"tenure:{build_id}" for build_id in seen]
    assert all(entry.delivered for entry in model.billed)


@asynccontextmanager
async def _fleet(copy: SourceCopy, client: Client) -> AsyncIterator[None]:
    """Run two workers of a copy of the source, of which each serves other queues."""
    queues = f"{MODEL_QUEUE},{WEB_QUEUE},{BROWSER_QUEUE}"
    bulk = f"{TENURE_QUEUE},{SEARCH_QUEUE},{INGEST_QUEUE},{EMBED_QUEUE}"
    options = ((bulk, "--make-current"), (queues, "--versioned"))
    environment = copy.environment | {"TEMPORAL_ADDRESS": client.service_client.config.target_host}
    with (copy.source / "workers.log").open("ab") as log:
        workers = [
            await asyncio.create_subprocess_exec(
                *(sys.executable, str(copy.source / "worker.py"), "--queues", served, option),
                env=environment,
                stdout=log,
                stderr=log,
            )
            for served, option in options
        ]
    try:
        yield
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            await worker.wait()


async def _wait_for_another_version(client: Client, seen: list[str]) -> None:
    """Wait until a version is current that is not among those seen, and add it."""
    async with asyncio.timeout(180):
        while (build_id := await read_current_build_id(client)) in ("", *seen):  # noqa: ASYNC110 - the server knows
            await asyncio.sleep(0.2)
    seen.append(build_id)


async def _wait_for_held_calls(model: ModelServer, count: int) -> None:
    async with asyncio.timeout(180):
        while sum(call.schema_name == HELD_ROLE for call in model.in_flight) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


@exhaustive
async def test_versioning_can_be_turned_off_and_on(tmp_path: Path) -> None:
    """With the setting off one worker without a version serves everything, before and after a versioned one."""
    with ModelServer() as model:
        copy = SourceCopy(tmp_path / "copy", model.environment)
        request, seen = _request(tmp_path / "copy"), list[tuple[str, str]]()
        try:
            for setting in ("off", "on", "off"):
                copy.environment["TENURE_WORKER_VERSIONING"] = setting
                await asyncio.to_thread(copy.run, "up")
                client = await copy.connect()
                result = await _execute(client, request, f"run-{len(seen)}")
                seen.append((result.status, await read_current_build_id(client)))
            build_ids = {worker.build_id for worker in load(copy.home).draining}
        finally:
            await asyncio.to_thread(copy.run, "down")

    assert Counter(status for status, _ in seen) == {"done": 3}
    assert [bool(build_id) for _, build_id in seen] == [False, True, False]
    assert build_ids <= {seen[1][1]}


async def _check_commands(copy: SourceCopy, earlier: str) -> None:
    """Check what commands say about a run whose version has no worker any more."""
    listed = {one["build_id"]: one for one in json.loads(await _run(copy, "versions", "--json"))["versions"]}
    assert [one["status"] for one in listed.values()] == ["current", "earlier"]
    assert listed[load(copy.home).build_id]["workers"] >= 1
    assert listed[earlier]["running_workflows"] == 0
    assert "bread" in (await _run(copy, "report", "crashed")).lower()
    with pytest.raises(RuntimeError, match="no worker answers for the version of the code that it ran under"):
        await _run(copy, "state", "crashed")


async def _check_broken_code(copy: SourceCopy) -> None:
    """Check that no run begins under the earlier code if the worker of the changed code does not start."""
    copy.edit("worker.py", "def main(", "import missing_module\n\n\ndef main(")
    with pytest.raises(RuntimeError, match=r"new runs would use the earlier code.*missing_module"):
        await _run(copy, "start", "How is bread made?", "--corpus", "kitchen", "--detach")
    copy.edit("worker.py", "import missing_module\n\n\n", "")
    assert "earlier code" not in await _run(copy, "up")


async def _run(copy: SourceCopy, *arguments: str) -> str:
    return await asyncio.to_thread(copy.run, *arguments)


def _request(folder: Path) -> RunRequest:
    question = "How is bread made in kitchen number 7?"
    return RunRequest(question=question, ingest=(write_documents(folder),), corpora=("kitchen",), limits=LIMITS)


async def _execute(client: Client, request: RunRequest, id: str) -> Result:
    return await asyncio.wait_for(
        client.execute_workflow(AgentWorkflow.run, request, id=id, task_queue=TENURE_QUEUE), 300
    )
