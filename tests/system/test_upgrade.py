"""Changes of the code under running work, with a real server and real workers of several versions."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psutil
import pytest
import yaml
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowHandle
from temporalio.common import SearchAttributeKey

from benchmarks.durability.source_copy import ROOT, SourceCopy, change_algorithm, reorder_workflow
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
from tenure.runs.session.versions import list_code_versions
from tenure.temporal.deployment import read_current_build_id
from tenure.temporal.stack.record import load
from tenure.temporal.stack.source import BUILD_ID_VARIABLE
from tests.model_server import ModelServer
from tests.support.servers.temporal_server import run_temporal_server
from tests.support.tiers import exhaustive, slow
from tests.support.waiting import WAIT_SECONDS, wait_until
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

VERSION_ATTRIBUTE = SearchAttributeKey.for_keyword("TemporalWorkerDeploymentVersion")
MANIFESTS = ROOT / "deploy" / "kubernetes" / "version"
RUNS = 20

pytestmark = [slow, pytest.mark.timeout(900)]


@exhaustive
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
                assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
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


async def test_a_rolling_update_of_a_cluster_serves_two_versions(tmp_path: Path) -> None:
    """Workers as the manifests start them: runs of two versions finish under their own, and none is taken back."""
    with ModelServer() as model:
        home = {**model.environment, "TENURE_HOME": str(tmp_path / "home"), "TENURE_DOCUMENT_ROOTS": str(tmp_path)}
        earlier = SourceCopy(tmp_path / "earlier", home)
        later = SourceCopy(tmp_path / "later", home)
        reorder_workflow(later)
        async with run_temporal_server() as server:
            client, request = server.client, _request(tmp_path)
            handles: list[WorkflowHandle[AgentWorkflow, Result]] = []

            async def start_run() -> None:
                number = len(handles)
                handles.append(
                    await client.start_workflow(
                        AgentWorkflow.run, request, id=f"fleet-{number}", task_queue=TENURE_QUEUE
                    )
                )
                await _wait_for_held_calls(model, number + 1)

            async with AsyncExitStack() as running:
                with model.hold(HELD_ROLE):
                    for copy, version in ((earlier, "0.1.0"), (later, "0.2.0")):
                        await running.enter_async_context(_deploy(copy, client, version))
                        await _wait_for_version(client, version)
                        await start_run()
                    # The autoscaler adds pods of the earlier version too, and a node may restart them.
                    await running.enter_async_context(_deploy(earlier, client, "0.1.0", "worker.yaml"))
                    await _wait_for_workers(client, "0.1.0", 2)
                    await start_run()
                results = [await asyncio.wait_for(handle.result(), 300) for handle in handles]
                versions = [
                    (await handle.describe()).typed_search_attributes.get(VERSION_ATTRIBUTE) for handle in handles
                ]

    assert [result.status for result in results] == ["done"] * 3
    assert versions == ["tenure:0.1.0", "tenure:0.2.0", "tenure:0.2.0"]
    assert all(entry.delivered for entry in model.billed)


@asynccontextmanager
async def _deploy(copy: SourceCopy, client: Client, version: str, pattern: str = "*worker.yaml") -> AsyncIterator[None]:
    """Run one worker of each Deployment for a version, but that of programs, which needs its own namespaces."""
    environment = copy.environment | {
        "TEMPORAL_ADDRESS": client.service_client.config.target_host,
        BUILD_ID_VARIABLE: version,
    }
    deployments = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(MANIFESTS.glob(pattern))]
    workers = []
    for deployment in deployments:
        name = deployment["metadata"]["name"]
        if name == "sandbox-worker":
            continue
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        with (copy.source / f"{name}.log").open("ab") as log:
            workers.append(
                await asyncio.create_subprocess_exec(
                    *(sys.executable, str(copy.source / "worker.py"), *container["args"]),
                    env=environment,
                    stdout=log,
                    stderr=log,
                )
            )
    try:
        yield
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            await worker.wait()


def is_repeated(description: WorkflowExecutionDescription) -> bool:
    """Return whether a workflow task has failed and is repeated."""
    return description.raw_description.pending_workflow_task.attempt > 1


async def _wait_for_version(client: Client, build_id: str) -> None:
    """Wait until new runs use a version."""
    await wait_until("the version", lambda: read_current_build_id(client), lambda found: found == build_id)


async def _wait_for_workers(client: Client, build_id: str, count: int) -> None:
    """Wait until a number of workers of a version poll for workflows."""

    async def count_workers() -> int:
        return sum(one.workers for one in await list_code_versions(client) if one.build_id == build_id)

    await wait_until(f"{count} workers", count_workers, lambda found: found == count)


async def _wait_for_held_calls(model: ModelServer, count: int) -> None:
    await wait_until(
        f"{count} calls",
        lambda: sum(call.schema_name == HELD_ROLE for call in model.in_flight),
        lambda found: found >= count,
    )


async def test_a_run_with_a_fault_continues_under_the_corrected_version(tmp_path: Path) -> None:
    """A run whose code fails is moved to corrected code that fits its history, and never to code that does not."""
    with ModelServer() as model:
        copy = SourceCopy(tmp_path / "copy", model.environment)
        line, fault = '        mode: TaskMode = "CODE"\n', '        raise RuntimeError("a fault")\n'
        copy.edit("workflows/run/agent.py", line, fault + line)
        try:
            await asyncio.to_thread(copy.run, "up")
            client = await copy.connect()
            handle = await client.start_workflow(
                AgentWorkflow.run, _request(tmp_path / "copy"), id="faulty", task_queue=TENURE_QUEUE
            )
            await wait_until("a second attempt", handle.describe, is_repeated)
            with pytest.raises(RuntimeError, match=r"ended with 1: error: no run missing is running"):
                await _run(copy, "versions", "--move", "missing")
            copy.edit("workflows/run/agent.py", fault, "")
            with pytest.raises(RuntimeError, match=r"this installation has version .*: start its workers with"):
                await _run(copy, "versions", "--move", "faulty")
            reorder_workflow(copy)
            await _run(copy, "up")
            with pytest.raises(RuntimeError, match=r"the history of faulty does not fit version .*: the run stays"):
                await _run(copy, "versions", "--move", "faulty")
            shutil.copy2(ROOT / "workflows/run/agent.py", copy.source / "workflows/run/agent.py")
            await _run(copy, "up")
            said = await _run(copy, "versions", "--move", "faulty")
            result = await asyncio.wait_for(handle.result(), 300)
            version = (await handle.describe()).typed_search_attributes.get(VERSION_ATTRIBUTE)
            current = load(copy.home).build_id
        finally:
            await asyncio.to_thread(copy.run, "down")

    assert "faulty continues under the current version (1 workflow moved)" in said
    assert (result.status, version) == ("done", f"tenure:{current}")
    assert all(entry.delivered for entry in model.billed)


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
