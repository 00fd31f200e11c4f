"""Test that the commands of the runbook for a stuck run lose nothing: a reset, and a fork after a termination."""

import asyncio
import shlex
import sys
from collections import Counter
from pathlib import Path

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.result.result import Result
from tenure.temporal.stack.server import find_binary
from tests.model_server import ModelServer
from tests.support.tiers import slow
from tests.support.waiting import WAIT_SECONDS, wait_until
from tests.system.test_durability import around, started, worker_process

ROOT = Path(__file__).resolve().parents[2]
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")

pytestmark = slow


async def execute(line: str, run: str, client: Client, environment: dict[str, str]) -> str:
    """Execute a line of the runbook for a run, and return its output."""
    assert line in RUNBOOK
    program, *words = shlex.split(line.replace("ID", run))
    command = {"temporal": [str(find_binary())], "python": [sys.executable]}[program]
    address = ["--address", client.service_client.config.target_host] if program == "temporal" else []
    process = await asyncio.create_subprocess_exec(
        *command,
        *words,
        *address,
        cwd=ROOT,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


async def test_a_reset_repeats_no_finished_call(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A run that is reset while its report is written ends with its report; nothing before that is asked again."""
    with ModelServer() as model:
        environment = around(model, server.client, tmp_path)
        async with worker_process(environment, tmp_path / "worker.log"):
            with model.hold("report_writer") as gate:
                handle = await started(server.client, tmp_path)
                assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
                before = Counter(request.schema_name for request in model.requests)
                line = 'temporal workflow reset --workflow-id ID --type LastWorkflowTask --reason "stuck"'
                await execute(line, handle.id, server.client, environment)
            latest = server.client.get_workflow_handle(handle.id, result_type=Result)
            result = await latest.result()
            after = Counter(request.schema_name for request in model.requests)

    assert result.status == "done"
    asked_again = {name for name in before if after[name] > before[name]}
    assert asked_again & {"router", "outliner", "planner", "decomposer"} == set()


async def test_a_terminated_run_continues_as_a_fork(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """After a termination the run is still listed, and a fork from its cycle ends with a report."""
    with ModelServer() as model:
        environment = around(model, server.client, tmp_path)
        async with worker_process(environment, tmp_path / "worker.log"):
            with model.hold("report_writer") as gate:
                handle = await started(server.client, tmp_path)
                assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
                line = 'temporal workflow terminate --workflow-id ID --reason "continued as a fork"'
                await execute(line, handle.id, server.client, environment)

            async def list_runs() -> str:
                return await execute("python client.py list --limit 50", handle.id, server.client, environment)

            # The server lists a new state some time later.
            await wait_until(
                "the listed state",
                list_runs,
                lambda listed: any(handle.id in line and "terminated" in line for line in listed.splitlines()),
            )
            planned = len(model.requests_of("outliner"))
            printed = await execute("python client.py fork ID --cycle 1", handle.id, server.client, environment)

    assert (await handle.describe()).status == WorkflowExecutionStatus.TERMINATED
    assert "# " in printed
    assert len(model.requests_of("outliner")) == planned
