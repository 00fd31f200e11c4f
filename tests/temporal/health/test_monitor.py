"""Test the health of a worker over real HTTP while it starts, works, freezes and stops."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio import activity
from temporalio.testing import WorkflowEnvironment

from tenure.settings import Settings
from tenure.temporal.health import monitor
from tenure.temporal.health.http_server import serve_health
from tenure.temporal.health.monitor import WorkerMonitor
from tenure.temporal.health.probe import LIVE_PATH, READY_PATH, ProbeResult, probe_worker
from tenure.temporal.health.record import FOLDER, load_record, save_record
from tests.support.waiting import WAIT_SECONDS, wait_until
from tests.support.workers import PatientWorker


class Served:
    """A monitor and its server."""

    def __init__(self, watching: WorkerMonitor, port: int) -> None:
        self.monitor, self.port = watching, port

    async def ask(self, path: str = READY_PATH) -> ProbeResult:
        """Ask as a health check does, while the event loop runs."""
        return await asyncio.to_thread(probe_worker, "127.0.0.1", self.port, path)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """Serve the health of a worker that has not started yet."""
    async with WorkerMonitor() as watching:
        with serve_health(Settings(home=tmp_path, _env_file=None), watching) as health:
            yield Served(watching, health)


def block(asking: threading.Thread) -> None:
    """Block the event loop, as a faulty program does, until the thread has ended."""
    asking.join(WAIT_SECONDS)


async def test_an_error_of_the_worker_keeps_its_type() -> None:
    """The error that ends a worker is not wrapped, so the process ends with one line and its own exit code."""
    with pytest.raises(LookupError, match="no knowledge base"):
        async with WorkerMonitor():
            raise LookupError("no knowledge base")


async def test_a_worker_says_what_it_serves(served: Served, server: WorkflowEnvironment) -> None:
    """The answer contains the age of the last tick and the task queues, and a worker that stops takes no work."""
    queue = f"health-{uuid4().hex[:8]}"

    @activity.defn
    async def unused() -> None:
        return

    assert (await served.ask()).reason == "the worker is starting"
    assert (await served.ask(LIVE_PATH)).healthy
    async with PatientWorker(server.client, task_queue=queue, activities=[unused]) as worker:
        served.monitor.watch([worker])
        serving = await served.ask()

        assert serving.healthy
        assert serving.reply["queues"] == [queue]
        assert serving.reply["pid"] == os.getpid()
        assert serving.reply["loop_age_seconds"] < monitor.MAX_LOOP_AGE_SECONDS
    served.monitor.stop()
    stopping = await served.ask()
    assert (stopping.healthy, stopping.reason) == (False, "the worker is stopping")
    assert (await served.ask(LIVE_PATH)).healthy


async def test_a_blocked_event_loop_is_told_while_it_is_blocked(
    served: Served, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The check fails within the limit although the loop cannot answer, and the log shows the blocking code."""
    monkeypatch.setattr(monitor, "MAX_LOOP_AGE_SECONDS", 0.2)
    served.monitor.watch([])
    answers: list[ProbeResult] = []

    def ask() -> None:
        while not answers or answers[-1].healthy:
            answers.append(probe_worker("127.0.0.1", served.port, LIVE_PATH))

    await wait_until("a healthy worker", lambda: served.ask(LIVE_PATH), lambda found: found.healthy)
    asking = threading.Thread(target=ask)
    asking.start()
    block(asking)
    await wait_until("a healthy worker", lambda: served.ask(LIVE_PATH), lambda found: found.healthy)

    assert "its event loop has not run for" in answers[-1].reason
    assert answers[-1].reply["status"] == "stuck"
    assert "in block" in capfd.readouterr().err


async def test_the_port_is_found_by_the_process_id(served: Served, tmp_path: Path) -> None:
    """A record belongs to one process, is removed with it, and those of ended processes go at the next start."""
    gone = tmp_path / FOLDER / "4194303"
    gone.write_text("{}")
    save_record(tmp_path, 1, "127.0.0.1", 5)

    assert not gone.exists()
    assert load_record(tmp_path, os.getpid(), time.time() - 60) == ("127.0.0.1", served.port)
    assert load_record(tmp_path, os.getpid(), time.time() + 60) is None
    assert load_record(tmp_path, 2, 0) is None


async def test_a_taken_port_is_an_error_that_names_the_setting(tmp_path: Path) -> None:
    """A worker whose configured port is taken does not start."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = Settings(home=tmp_path, health_port=taken.getsockname()[1], _env_file=None)
        with pytest.raises(ValueError, match=r"TENURE_HEALTH_PORT: .* cannot be used .*set it to a free port"):
            serve_health(settings, WorkerMonitor()).__enter__()


async def test_a_home_that_cannot_be_written_does_not_stop_a_worker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The health port answers, and one line of the log says that commands do not find it."""
    (tmp_path / "file").write_text("not a folder")
    async with WorkerMonitor() as watching:
        with serve_health(Settings(home=tmp_path / "file", _env_file=None), watching) as health:
            assert (await Served(watching, health).ask(LIVE_PATH)).healthy
    assert "commands of this home cannot see this worker's health" in capsys.readouterr().out


def test_other_servers_and_silence_are_told_apart() -> None:
    """A closed port, a server that never answers and one of another kind each have a reason of their own."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        silence = probe_worker("127.0.0.1", port, LIVE_PATH, timeout=0.2)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        closed = probe_worker("127.0.0.1", port, LIVE_PATH)

    assert silence.reason == "it does not answer within 0.2 s"
    assert closed.reason == f"nothing listens on its health port {port}"
