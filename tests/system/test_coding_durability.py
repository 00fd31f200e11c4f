"""Job security of the coding path: a worker killed for real while a program is tested costs nothing finished."""

import asyncio
import signal
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from temporalio.testing import WorkflowEnvironment

from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.contracts.sandbox import InputFile
from tests.model_server import ModelServer
from tests.support.repositories.program_python import make_program_python
from tests.support.tiers import slow
from tests.system.test_durability import around, finished, of_roles, wait_for_activity, worker_process
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

TESTS = InputFile(
    name="test_double.py",
    text="import time\n\nfrom solution import double\n\n\n"
    "def test_double():\n    time.sleep(2)\n    assert double(4) == 8\n",
)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Write the wrong program first and, shown a failure, the right one."""
    sign = "+" if "<failure>" in request["messages"][-1]["content"] else "-"
    files = [{"path": "solution.py", "content": f"def double(x: int) -> int:\n    return x {sign} x\n"}]
    return {"approach": f"With {sign}.", "files": files, "entry": "", "args": [], "stdin": ""}


@slow
async def test_killing_the_worker_during_an_attempt_loses_nothing(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """After a kill -9 in the middle of a trial the run ends green, the trial is made again and no answer is."""
    request = RunRequest(
        question="Write a function double",
        mode="code",
        tests=(TESTS,),
        limits=RunLimits(program_seconds=60, repair_seconds=0),
    )
    with ModelServer() as model:
        model.on("coder", answer)
        environment = around(model, server.client, tmp_path, TENURE_SANDBOX_PYTHON=str(make_program_python()))
        name = f"drill-{uuid.uuid4().hex[:8]}"
        handle = await server.client.start_workflow(AgentWorkflow.run, request, id=name, task_queue=TENURE_QUEUE)
        async with worker_process(environment, tmp_path / "worker.log") as process:
            await wait_for_activity(server.client, name, "run_tests")
            process.send_signal(signal.SIGKILL)
            await process.wait()
        async with worker_process(environment, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 150)
            scheduled, completed = await finished(server.client, name)

    asked = Counter(request.schema_name for request in model.requests if request.schema_name)
    assert result.status == "done" and [attempt.error is None for attempt in result.attempts] == [False, True]
    assert scheduled == completed
    assert asked == of_roles(completed)
    assert completed["run_tests"] == 2
