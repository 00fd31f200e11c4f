"""Finished work does not depend on the server: its histories are deleted by hand, and its worker is killed."""

import asyncio
import json
import os
import signal
import uuid
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.knowledge.runs import ArchivedRuns
from tenure.temporal import connection
from tests.cli.conftest import no_stack
from tests.support.histories import delete_histories, wait_until_archived
from tests.support.homes import home
from tests.support.tiers import exhaustive, slow
from tests.support.waiting import wait_until
from tests.system.test_durability import ROOT, kitchen, worker_process
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

STALLED = """
import os, time
from pathlib import Path

from tenure.knowledge.runs import ArchivedRuns

save = ArchivedRuns.save_run

def save_and_stall(self, run):
    if os.environ["STALL"] == "after":
        save(self, run)
    Path(os.environ["STALL_MARK"]).write_text(run.description.id)
    time.sleep(3600)

ArchivedRuns.save_run = save_and_stall
"""
"""Start of a worker whose activity stops before or after it has written the archive."""


async def _delete_all(settings: object, *names: str) -> None:
    client = await connection.connect(settings)  # type: ignore[arg-type]
    await wait_until_archived(client)
    for name in names:
        await delete_histories(client, name)


@slow
@pytest.mark.timeout(420)
def test_a_home_without_its_histories_shows_every_finished_run(tmp_path: Path) -> None:
    """Reports, traces, differences and lists stay, questions are answered and forks start, also without a stack."""
    documents = str(kitchen(tmp_path))
    with home(tmp_path, TENURE_MIN_RELEVANCE="0", TENURE_MAX_SECTIONS="1") as line:
        for name, question in (("bread", "How is bread made?"), ("cheese", "How is cheese made?")):
            done = line.run("start", question, "--docs", documents, "--id", name)
            assert done.returncode == 0, done.stderr
        first = line.json("ask", "bread", "What is bread made from?")
        commands = (
            ("report", "bread", "--format", "html"),
            ("report", "cheese", "--json"),
            ("trace", "bread", "--json"),
            ("diff", "bread", "cheese"),
        )
        before = [line.run(*command).stdout for command in commands]
        listed = {row["id"]: row for row in line.json("list")}
        asyncio.run(_delete_all(line.settings, "bread", "cheese"))

        after = [line.run(*command).stdout for command in commands]
        archived = {row["id"]: row for row in line.json("list")}
        second = line.json("ask", "bread", "How is bread made from flour?")
        forked = line.run("fork", "bread", "--cycle", "1", "--id", "rye", "--json")
        assert line.run("down").returncode == 0
        without_stack = [line.run(*command).stdout for command in commands]
        assert line.run("backup", str(tmp_path / "copy")).returncode == 0
    restored = no_stack(tmp_path / "restored")
    assert restored("restore", str(tmp_path / "copy")).returncode == 0

    assert all(before) and after == before and without_stack == before
    assert archived == {name: row | {"archived": True, "url": ""} for name, row in listed.items()}
    assert [len(answer["thread"]["exchanges"]) for answer in (first, second)] == [1, 2]
    assert (forked.returncode, json.loads(forked.stdout)["id"]) == (0, "rye"), forked.stderr
    assert restored("report", "cheese", "--json").stdout == before[1]


@slow
@pytest.mark.parametrize("moment", [pytest.param("before", marks=exhaustive), "after"])
async def test_a_killed_worker_leaves_one_row(server: WorkflowEnvironment, tmp_path: Path, moment: str) -> None:
    """A worker killed between reading the histories and reporting the written row leaves one row after its restart."""
    customized, mark = tmp_path / "customized", tmp_path / "mark"
    customized.mkdir()
    (customized / "sitecustomize.py").write_text(STALLED)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "OPENAI_"))},
        "TENURE_HOME": str(tmp_path / "home"),
        "TENURE_DOCUMENT_ROOTS": str(tmp_path),
        "TENURE_ARCHIVE_HOURS": "0",
        "TEMPORAL_ADDRESS": server.client.service_client.config.target_host,
    }
    stalled = {"PYTHONPATH": os.pathsep.join((str(customized), str(ROOT))), "STALL": moment, "STALL_MARK": str(mark)}
    run = await _start(server.client, kitchen(tmp_path))
    async with worker_process(environment | stalled, tmp_path / "worker.log") as process:
        await wait_until("the saved run", mark.exists)
        process.send_signal(signal.SIGKILL)
        await process.wait()
    async with worker_process(environment, tmp_path / "worker.log"):
        await wait_until_archived(server.client)
    runs = ArchivedRuns.open(str(tmp_path / "home" / "knowledge"))

    assert runs is not None
    assert mark.read_text() == run
    assert [described.id for described in runs.list_runs("AgentWorkflow")] == [run]


async def _start(client: Client, documents: Path) -> str:
    """Start a run that finds nothing, and return its id."""
    handle = await client.start_workflow(
        AgentWorkflow.run,
        RunRequest(
            question="Quantum chromodynamics?",
            ingest=(IngestRequest(corpus="food", paths=(str(documents),)),),
            corpora=("food",),
            limits=RunLimits(min_relevance=0.9),
        ),
        id=f"archive-{uuid.uuid4().hex[:8]}",
        task_queue=TENURE_QUEUE,
    )
    return handle.id
