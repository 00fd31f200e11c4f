"""A real worker process that freezes, is asked to stop while it is busy, or runs programs with encrypted requests."""

import asyncio
import base64
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from pydantic import SecretStr
from temporalio.client import ActivityFailureError, Client, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from tenure.cli.commands.doctor import check_worker
from tenure.contracts.base import RunId
from tenure.contracts.result.programs import ProgramRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.contracts.sandbox import InputFile, Program, SandboxOutcome
from tenure.encryption_keys import KEY_BYTES
from tenure.settings import Settings
from tenure.temporal.converter import UNREADABLE_ARGUMENTS, make_data_converter
from tenure.temporal.health.probe import READY_PATH, ProbeResult, probe_worker
from tenure.temporal.shutdown import SHUTDOWN_MARGIN_SECONDS
from tenure.temporal.stack import local
from tests.model_server import ModelServer
from tests.support.homes import home
from tests.support.ports import free_ports
from tests.support.repositories.program_python import make_program_python
from tests.support.tiers import exhaustive, slow
from tests.support.waiting import WAIT_SECONDS, wait_until
from tests.system.test_durability import around, finished, in_flight, of_roles, started, worker_process
from worker import GRACEFUL_SHUTDOWN_TIMEOUT
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import SANDBOX_QUEUE, TENURE_QUEUE

ROOT = Path(__file__).parents[2]

BLOCKABLE = """\
import signal, sys, time
sys.path.insert(0, {root!r})
import worker
signal.signal(signal.SIGUSR1, lambda *_: time.sleep(600))  # in the main thread, and so in its event loop
sys.exit(worker.main())
"""


@pytest.fixture
def blockable(tmp_path: Path) -> Path:
    """Return the script of a worker whose event loop blocks at a signal."""
    script = tmp_path / "worker.py"
    script.write_text(BLOCKABLE.format(root=str(ROOT)))
    return script


@contextmanager
def killed_at_the_end(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kill a process and its children after a block."""
    try:
        yield
    finally:
        if process.poll() is None:
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
        process.wait()


async def ready(port: int, queue: str = TENURE_QUEUE) -> dict[str, Any]:
    """Wait until a worker serves a queue, and return its answer."""
    found = await wait_until(
        f"a worker of {queue}", partial(probe, port), lambda found: found.healthy and queue in found.reply["queues"]
    )
    return found.reply


async def probe(port: int) -> ProbeResult:
    """Ask whether a worker takes work."""
    return await asyncio.to_thread(probe_worker, "127.0.0.1", port, READY_PATH)


@slow
@pytest.mark.parametrize(
    ("number", "reason"),
    [pytest.param(signal.SIGSTOP, "suspended", marks=exhaustive), (signal.SIGUSR1, "event loop")],
)
async def test_a_frozen_worker_of_the_local_stack_is_named_and_replaced(
    tmp_path: Path, blockable: Path, number: signal.Signals, reason: str
) -> None:
    """`status` and `doctor` say within seconds that the worker is frozen, and `up` starts another one."""
    with home(tmp_path) as made:
        settings = made.settings
        with pytest.MonkeyPatch.context() as variables:
            for name, value in made.environment().items():
                variables.setenv(name, value)
            first = local.start_stack(Settings(_env_file=None), worker_command=[sys.executable, str(blockable)])
        assert made.run("up").returncode == 0
        assert local.get_status(settings).notes == ()
        assert first.worker_pid is not None

        os.kill(first.worker_pid, number)
        await wait_until("a note", lambda: local.get_status(settings).notes)
        found = await asyncio.to_thread(check_worker, settings)
        again = made.run("up")

        assert (found.level, reason in found.message) == ("warn", True)
        assert f"the worker (process {first.worker_pid}) is frozen" in found.message
        assert again.returncode == 0
        assert "the worker was restarted: it was frozen" in again.stderr
        assert local.get_status(settings).worker_pid not in (None, first.worker_pid)
        assert not psutil.pid_exists(first.worker_pid)


@slow
@pytest.mark.parametrize("number", [signal.SIGSTOP, pytest.param(signal.SIGUSR1, marks=exhaustive)])
async def test_the_supervisor_ends_a_frozen_worker_and_the_next_one_continues(
    server: WorkflowEnvironment, tmp_path: Path, blockable: Path, number: signal.Signals
) -> None:
    """A worker that freezes during a model call is killed; after the restart only this call is made again."""
    with ModelServer() as model:
        port = free_ports(1)[0]
        environment = around(model, server.client, tmp_path, TENURE_HEALTH_PORT=str(port), PYTHONPATH=str(ROOT))
        command = [sys.executable, "-m", "tenure.temporal.health.supervisor", sys.executable, str(blockable)]
        handle = await started(server.client, tmp_path)
        interrupted: Counter[str] = Counter()
        for freezes in (True, False):
            process = subprocess.Popen(command, env=environment, cwd=ROOT)
            with killed_at_the_end(process), model.hold("report_writer" if freezes else "none") as gate:
                reply = await ready(port)
                if freezes:
                    assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
                    interrupted = await in_flight(server.client, handle.id)
                    began = time.monotonic()
                    os.kill(reply["pid"], number)
                    assert await asyncio.to_thread(process.wait, 120) == 1
                    assert time.monotonic() - began < 90  # thirty on a machine with nothing else to do
                else:
                    result = await asyncio.wait_for(handle.result(), 120)
        _, completed = await finished(server.client, handle.id)
    asked = Counter(request.schema_name for request in model.requests if request.schema_name)
    assert result.status == "done"
    assert of_roles(completed) <= asked <= of_roles(completed) + interrupted


async def start_kitchens(client: Client, count: int) -> list[WorkflowHandle[Any, Result]]:
    """Start runs without documents."""
    limits = RunLimits(min_relevance=0.0, max_report_revisions=0)
    return [
        await client.start_workflow(
            AgentWorkflow.run,
            RunRequest(question=f"How are bread and cheese made in kitchen {number}?", limits=limits),
            id=f"stop-{uuid.uuid4().hex[:8]}",
            task_queue=TENURE_QUEUE,
        )
        for number in range(count)
    ]


@asynccontextmanager
async def asked_to_stop(process: asyncio.subprocess.Process, port: int) -> AsyncIterator[float]:
    """Ask a worker to stop, wait until it stops taking work, and yield the time of the request."""
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    await wait_until("a stopping worker", partial(probe, port), lambda found: not found.healthy)
    yield began


@slow
async def test_a_busy_worker_that_is_asked_to_stop_finishes_its_calls_and_takes_no_new_ones(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    """After SIGTERM no call begins, those under way finish, the process ends in time, and nothing is repeated."""
    with ModelServer() as model:
        port = free_ports(1)[0]
        environment = around(model, server.client, tmp_path, TENURE_HEALTH_PORT=str(port))
        async with worker_process(environment, tmp_path / "worker.log") as process:
            await ready(port)
            with model.hold() as gate:
                runs = await start_kitchens(server.client, 12)
                await wait_until("a call of each run", lambda: len(model.in_flight), lambda count: count >= 12)
                async with asked_to_stop(process, port) as began:
                    under_way = len(model.requests)
                    runs += await start_kitchens(server.client, 4)
                    # Longer than other activities may continue, and time in which a worker would take new work.
                    await asyncio.sleep(GRACEFUL_SHUTDOWN_TIMEOUT.total_seconds() + 2)
                    gate.opened.set()
                    code = await asyncio.wait_for(process.wait(), 120)
                    seconds = time.monotonic() - began
        taken = len(model.requests)
        async with worker_process(environment, tmp_path / "worker.log"):
            results = await asyncio.wait_for(asyncio.gather(*(run.result() for run in runs)), 240)
        completed: Counter[str] = Counter()
        for run in runs:
            completed += (await finished(server.client, run.id))[1]
    asked = Counter(request.schema_name for request in model.requests if request.schema_name)
    assert (code, under_way, taken) == (0, 12, 12)
    assert seconds < Settings(_env_file=None).shutdown_seconds + SHUTDOWN_MARGIN_SECONDS
    assert model.abandoned == []
    assert asked == of_roles(completed)
    assert {result.status for result in results} <= {"done", "no_evidence"}
    assert sum(result.usage.model_calls for result in results) == sum(asked.values())


@slow
async def test_a_call_that_exceeds_the_time_of_a_shutdown_is_the_only_one_repeated(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    """A worker ends within its limit although a model does not answer, and the next one makes this call again."""
    with ModelServer() as model:
        port = free_ports(1)[0]
        limited = around(model, server.client, tmp_path, TENURE_HEALTH_PORT=str(port), TENURE_SHUTDOWN_SECONDS="2")
        handle = await started(server.client, tmp_path)
        async with worker_process(limited, tmp_path / "worker.log") as process:
            with model.hold("outliner") as gate:
                assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
                async with asked_to_stop(process, port) as began:
                    code = await asyncio.wait_for(process.wait(), 120)
                    seconds = time.monotonic() - began
        async with worker_process(limited, tmp_path / "worker.log"):
            result = await asyncio.wait_for(handle.result(), 120)
        _, completed = await finished(server.client, handle.id)
    asked = Counter(request.schema_name for request in model.requests if request.schema_name)
    assert (code, result.status) == (0, "done")
    assert seconds < 2 + SHUTDOWN_MARGIN_SECONDS + 5  # and some for a busy machine
    assert asked == of_roles(completed) + Counter(["outliner"])


SPY = """\
import glob, os
seen = [repr(dict(os.environ))]
for path in glob.glob("/proc/[0-9]*/environ"):
    try:
        with open(path, "rb") as file:
            seen.append(file.read().decode(errors="replace"))
    except OSError as error:
        seen.append(str(error))
print(len(seen), "looked at")
print("KEY" if any(KEY in text or "ENCRYPTION" in text for text in seen) else "nothing")
"""


@slow
async def test_the_worker_of_programs_reads_encrypted_requests_and_programs_see_no_key(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    """With the variables of the Compose service a program runs and finds no key; without the key the call fails."""
    key = base64.b64encode(bytes(range(KEY_BYTES))).decode()
    settings = Settings(encryption_keys=SecretStr(f"k1:{key}"), _env_file=None)
    config = server.client.config()
    config["data_converter"] = make_data_converter(settings)
    client = Client(**config)
    service = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]["sandbox-worker"]
    port = free_ports(1)[0]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "OPENAI_"))},
        **service["environment"],
        "TEMPORAL_ADDRESS": server.client.service_client.config.target_host,
        "TEMPORAL_NAMESPACE": server.client.namespace,
        "TENURE_HOME": str(tmp_path / "home"),
        "TENURE_HEALTH_PORT": str(port),
        "TENURE_SANDBOX_PYTHON": str(make_program_python()),
        "TENURE_WORKER_VERSIONING": "off",  # the server of the tests has no current version
    }
    text = SPY.replace("KEY in", f"{key!r} in")
    program = Program(files=(InputFile(name="spy.py", text=text),), entry="spy.py")
    request = ProgramRequest(run=RunId("spy"), attempt=1, program=program)
    for keys in ({"TENURE_ENCRYPTION_KEYS": f"k1:{key}"}, {}):
        command = [sys.executable, "worker.py", *service["command"]]
        process = subprocess.Popen(command, cwd=ROOT, env={**environment, **keys})
        with killed_at_the_end(process):
            await ready(port, SANDBOX_QUEUE)
            execution = client.execute_activity(
                "run_program",
                request,
                id=f"spy-{uuid.uuid4().hex[:8]}",
                task_queue=SANDBOX_QUEUE,
                start_to_close_timeout=timedelta(minutes=2),
                result_type=SandboxOutcome,
            )
            if keys:
                outcome = await asyncio.wait_for(execution, 120)
                assert outcome.verdict == "passed", outcome
                assert outcome.stdout.splitlines()[-1] == "nothing"
            else:
                with pytest.raises(ActivityFailureError) as failure:
                    await asyncio.wait_for(execution, 120)
                assert isinstance(failure.value.cause, ApplicationError)
                assert failure.value.cause.type == UNREADABLE_ARGUMENTS


@slow
async def test_a_worker_of_another_home_takes_no_task_and_one_of_the_same_base_does(
    server: WorkflowEnvironment, tmp_path: Path
) -> None:
    """The refused worker ends with code 4 and one line; the run of the first continues."""
    first_port, third_port = free_ports(2)
    with ModelServer() as model:
        first = around(model, server.client, tmp_path, TENURE_HEALTH_PORT=str(first_port))
        other = {**first, "TENURE_HOME": str(tmp_path / "other"), "TENURE_HEALTH_PORT": str(third_port)}
        same = {**other, "TENURE_LANCEDB_URI": str(tmp_path / "home" / "knowledge")}
        async with worker_process(first, tmp_path / "first.log"):
            await ready(first_port)
            with model.hold("report_writer") as gate:
                handle = await started(server.client, tmp_path)
                assert await asyncio.to_thread(gate.arrived.wait, WAIT_SECONDS)
                refused = await asyncio.to_thread(
                    subprocess.run,
                    [sys.executable, "worker.py"],
                    cwd=ROOT,
                    env=other,
                    capture_output=True,
                    text=True,
                    timeout=60,
                )
                async with worker_process(same, tmp_path / "third.log"):
                    served = await ready(third_port)
                held = await in_flight(server.client, handle.id)
            result = await asyncio.wait_for(handle.result(), 120)
        scheduled, completed = await finished(server.client, handle.id)

    assert refused.returncode == 4
    assert refused.stderr.startswith("error: the namespace 'default' is served with another knowledge base (")
    assert refused.stderr.count("\n") == 1
    assert "worker is serving" not in refused.stdout
    assert served["queues"]
    assert held["report_writer"] == 1
    assert (result.status, scheduled) == ("done", completed)
