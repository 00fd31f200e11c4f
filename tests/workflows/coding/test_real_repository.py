"""Work in a real repository: real files, index, sandbox and tests, a scripted model, and workers that are killed."""

import asyncio
import shutil
import signal
import sys
import uuid
from pathlib import Path
from typing import Any

from temporalio.testing import WorkflowEnvironment

from tenure.contracts.repository_task import RepositorySource, RepositoryTask
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunRequest
from tests.model_server import ModelServer
from tests.support.repositories.git import CLOCK, make_repository, run_git
from tests.support.tiers import slow
from tests.support.waiting import WAIT_SECONDS
from tests.system.test_durability import around, in_flight, worker_process
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


def check_result(result: Result, repository: Path) -> None:
    """Check that the change is proved, and that the person's files are as they were."""
    change = result.repository
    assert change and change.proof and (result.status, change.proof.verdict) == ("done", "proved")
    assert "test_format_pads_minutes" in change.proof.reproduction
    assert [file.path for file in change.files] == ["clock/durations.py", "tests/test_durations.py"]
    assert not run_git(repository, "status", "--porcelain")


@slow
async def test_an_issue_is_resolved_in_a_real_repository(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """The patch applies to the commit, and its tests pass there."""
    repository = make_repository(tmp_path / "clock", CLOCK)
    with ModelServer() as model:
        model.on("repository_engineer", answer)
        environment = around(model, server.client, tmp_path, TENURE_SANDBOX_PYTHON=sys.executable)
        name = f"repository-{uuid.uuid4().hex[:8]}"
        request = build_request(repository)
        handle = await server.client.start_workflow(AgentWorkflow.run, request, id=name, task_queue=TENURE_QUEUE)
        async with worker_process(environment, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 150)

    check_result(result, repository)
    (tmp_path / "fix.patch").write_text(result.patch)
    run_git(repository, "apply", str(tmp_path / "fix.patch"))
    assert ":02" in (repository / "clock" / "durations.py").read_text()


POINTS = ((0, "open_repository"), (1, "run_command"), (3, "run_project_tests"))
"""Activities during which a worker is killed, each after a number of answers."""


@slow
async def test_killing_the_worker_loses_no_edit(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """After three times kill -9, each time on a disk without the files, the same patch comes, and no call again."""
    repository = make_repository(tmp_path / "clock", CLOCK)
    with ModelServer() as model:
        model.on("repository_engineer", answer)
        environment = around(model, server.client, tmp_path, TENURE_SANDBOX_PYTHON=sys.executable)
        name = f"repository-{uuid.uuid4().hex[:8]}"
        request = build_request(repository)
        handle = await server.client.start_workflow(AgentWorkflow.run, request, id=name, task_queue=TENURE_QUEUE)
        for answers, activity in POINTS:
            async with worker_process(environment, tmp_path / "worker.log") as process, asyncio.timeout(WAIT_SECONDS):
                while len(model.requests) < answers or not (await in_flight(server.client, name))[activity]:
                    pass
                process.send_signal(signal.SIGKILL)
                await process.wait()
            # Another machine has neither the files nor the private copy, but the knowledge base.
            for folder in ("workspaces", "environments"):
                shutil.rmtree(tmp_path / "home" / folder, ignore_errors=True)
        async with worker_process(environment, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 240)

    check_result(result, repository)
    assert [one.schema_name for one in model.requests] == ["repository_engineer"] * len(ANSWERS)
