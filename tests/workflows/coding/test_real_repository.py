"""Work in a real repository: real files, index, sandbox and tests, a scripted model, and workers that are killed."""

import asyncio
import operator
import shutil
import signal
import uuid
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.repository_task import RepositorySource, RepositoryTask
from tenure.contracts.result.programs import RepairProgress
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tests.model_server import ModelServer
from tests.support.repositories.git import CLOCK, make_repository, run_git
from tests.support.repositories.program_python import make_program_python
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from tests.system.test_durability import around, finished, in_flight, wait_for_activity, worker_process
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

ANSWERS = (
    "I look at it.\n\nREAD clock/durations.py\nSYMBOL format_minutes\nGREP format_minutes in tests/*.py",
    """Minutes below ten have no leading zero.

PLAN format_minutes (clock/durations.py:12) does not pad the minutes; pad them to two digits.
EDIT clock/durations.py
<<<<<<< SEARCH
    return f"{minutes // 60}:{minutes % 60}"
=======
    return f"{minutes // 60}:{minutes % 60:02}"
>>>>>>> REPLACE
EDIT tests/test_durations.py
<<<<<<< SEARCH
    assert format_minutes(90) == "1:30"
=======
    assert format_minutes(90) == "1:30"


def test_format_pads_minutes():
    assert format_minutes(65) == "1:05"
>>>>>>> REPLACE
RUN sleep 2; python -m pytest -q tests/test_durations.py
""",
    """The tests pass.

DONE
CAUSE: clock/durations.py:12 formatted the minutes without a leading zero.
CHANGE: Minutes have two digits; a test shows it.
MESSAGE: durations: pad minutes to two digits
""",
)
"""Answers of the model, by their number."""


def answer(request: dict[str, Any]) -> str:
    """Return the answer by the length of the conversation, so that a repeated request has the same one."""
    said = sum(message["role"] == "assistant" for message in request["messages"])
    return ANSWERS[min(said, 2)]


def build_request(folder: Path) -> RunRequest:
    """Return the request of a run in a repository."""
    task = RepositoryTask(source=RepositorySource(path=str(folder)))
    return RunRequest(question="format_minutes(65) gives 1:5 and not 1:05", mode="code", repository=task)


async def start(server: WorkflowEnvironment, request: RunRequest) -> WorkflowHandle[AgentWorkflow, Result]:
    """Start a run."""
    name = f"repository-{uuid.uuid4().hex[:8]}"
    return await server.client.start_workflow(AgentWorkflow.run, request, id=name, task_queue=TENURE_QUEUE)


def check_result(result: Result, repository: Path) -> None:
    """Check that the change is proved, that the person's files are as they were, and that the patch fits them."""
    change = result.repository
    assert change and change.proof and (result.status, change.proof.verdict) == ("done", "proved")
    assert "test_format_pads_minutes" in change.proof.reproduction
    assert [file.path for file in change.files] == ["clock/durations.py", "tests/test_durations.py"]
    assert not run_git(repository, "status", "--porcelain")
    (repository.parent / "fix.patch").write_text(result.patch)
    run_git(repository, "apply", str(repository.parent / "fix.patch"))
    assert ":02" in (repository / "clock" / "durations.py").read_text()


POINTS = ((0, "open_repository"), (1, "run_command"), (3, "run_project_tests"))
"""Activities during which a worker is killed, each after a number of answers."""


@slow
async def test_killing_the_worker_loses_no_edit(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """After three times kill -9, each time on a disk without the files, the same patch comes, and no call again."""
    repository = make_repository(tmp_path / "clock", CLOCK)
    with ModelServer() as model:
        model.on("repository_engineer", answer)
        environment = around(model, server.client, tmp_path, TENURE_SANDBOX_PYTHON=str(make_program_python()))
        handle = await start(server, build_request(repository))
        for answers, activity in POINTS:
            async with worker_process(environment, tmp_path / "worker.log") as process:
                await wait_until(f"{answers} answers", lambda: len(model.requests), partial(operator.le, answers))
                await wait_for_activity(server.client, handle.id, activity)
                process.send_signal(signal.SIGKILL)
                await process.wait()
            # Another machine has neither the files nor the private copy, but the knowledge base.
            for folder in ("workspaces", "environments"):
                shutil.rmtree(tmp_path / "home" / folder, ignore_errors=True)
        async with worker_process(environment, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 240)

    check_result(result, repository)
    assert [one.schema_name for one in model.requests] == ["repository_engineer"] * len(ANSWERS)


@slow
async def test_killing_the_worker_during_attempts_loses_none(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Both attempts continue in their own files after each kill -9; only a call in flight may be made again."""
    repository = make_repository(tmp_path / "clock", CLOCK)
    with ModelServer() as model:
        model.on("repository_engineer", answer)
        environment = around(model, server.client, tmp_path, TENURE_SANDBOX_PYTHON=str(make_program_python()))
        limits = RunLimits(candidates=2, has_model=True)
        handle = await start(server, build_request(repository).model_copy(update={"limits": limits}))
        interrupted: Counter[str] = Counter()
        for answers, activity in ((2, "run_command"), (5, "run_project_tests")):
            async with worker_process(environment, tmp_path / "worker.log") as process:
                await wait_until(f"{answers} answers", lambda: len(model.requests), partial(operator.le, answers))
                await wait_for_activity(server.client, handle.id, activity)
                process.send_signal(signal.SIGKILL)
                await process.wait()
                interrupted += await in_flight(server.client, handle.id)
            for folder in ("workspaces", "environments"):
                shutil.rmtree(tmp_path / "home" / folder, ignore_errors=True)
        async with worker_process(environment, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 240)
            scheduled, completed = await finished(server.client, handle.id)

    check_result(result, repository)
    change = result.repository
    assert change and [one.verdict for one in change.attempts] == ["proved", "proved"]
    assert change.attempts[0].patch == change.attempts[1].patch == result.patch
    calls = completed["repository_engineer"]
    assert calls == scheduled["repository_engineer"] == 2 * len(ANSWERS)
    assert calls <= len(model.requests) <= calls + interrupted["repository_engineer"]


FAULT = {
    **CLOCK,
    "clock/durations.py": str(CLOCK["clock/durations.py"]).replace("* 60 + int", "* 60 - int"),
    "tests/test_slow.py": "import time\n\n\ndef test_slow():\n    time.sleep(2)\n",
}
"""A fault that a test shows, and a test that makes each run of all of them long enough to be interrupted."""


async def has_traced(client: Client, run: str) -> bool:
    """Return whether the search for an edit has recorded in its heartbeat what the tests execute."""
    with suppress(RPCError):  # before the run has started its child
        described = await client.get_workflow_handle(f"{run}/repository").describe()
        for pending in described.raw_description.pending_activities:
            if pending.activity_type.name == "repair_project" and pending.heartbeat_details.payloads:
                (progress,) = await client.data_converter.decode(pending.heartbeat_details.payloads, [RepairProgress])
                return bool(progress.trace)
    return False


@slow
async def test_killing_the_worker_during_a_repair_changes_nothing(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Without a model, the search for an edit continues on another worker and finds it."""
    repository = make_repository(tmp_path / "clock", FAULT)
    with ModelServer() as model:
        environment = around(model, server.client, tmp_path, TENURE_SANDBOX_PYTHON=str(make_program_python()))
        del environment["OPENAI_BASE_URL"]
        handle = await start(server, build_request(repository))
        async with worker_process(environment, tmp_path / "worker.log") as process:
            await wait_until("a trace", lambda: has_traced(server.client, handle.id))
            process.send_signal(signal.SIGKILL)
            await process.wait()
        shutil.rmtree(tmp_path / "home" / "workspaces")
        async with worker_process(environment, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 240)

    assert result.repository and result.repository.proof and result.repository.proof.verdict == "proved"
    assert "-    return int(hours) * 60 - int(minutes)\n" in result.patch
    assert "* 60) + int" in result.patch and not model.requests
