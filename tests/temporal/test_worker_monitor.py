"""Tests of the measurements that no activity makes, on a real server."""

import asyncio
import re
import time
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio import activity
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tenure.metrics import (
    HOME_FREE,
    HOME_SIZE,
    QUEUE_BACKLOG,
    QUEUE_BACKLOG_AGE,
    QUEUE_POLLERS,
    RUNS_OPEN,
    TEMPORAL_UP,
    WORKER_HEARTBEAT,
    WORKER_MEMORY,
    MetricRecorder,
)
from tenure.settings import Settings
from tenure.temporal import worker_monitor
from tenure.temporal.telemetry import create_worker_runtime
from tenure.temporal.worker_monitor import measure_server, measure_worker, monitor_worker
from tests.support.meters import RecordingMeter
from tests.support.servers.temporal_server import run_temporal_server
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from tests.support.workers import PatientWorker
from tests.temporal.test_telemetry import find_free_range, read_metrics
from workflows.runtime.task_queues import ALL_QUEUES, BROWSER_QUEUE, EMBED_QUEUE, SANDBOX_QUEUE, TENURE_QUEUE


@activity.defn(name="idle")
async def idle() -> None:
    """Do nothing."""


async def test_the_process_and_its_home_are_measured(tmp_path: Path) -> None:
    """Time, memory and space are those of this process and machine."""
    meter, before = RecordingMeter(), time.time()

    await measure_worker(MetricRecorder(meter), tmp_path)

    assert before <= meter.get(WORKER_HEARTBEAT) <= time.time()
    assert meter.get(WORKER_MEMORY) > 10_000_000
    assert 0 < meter.get(HOME_FREE) <= meter.get(HOME_SIZE)


async def test_a_queue_without_a_worker_is_noticed(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backlog, its age and the pollers of each queue are those of the server."""
    served, waiting = f"served-{uuid4().hex[:8]}", f"waiting-{uuid4().hex[:8]}"
    monkeypatch.setattr(worker_monitor, "ALL_QUEUES", (TENURE_QUEUE, served, waiting))
    meter = RecordingMeter()
    recorder = MetricRecorder(meter)
    handle = await server.client.start_activity(
        "idle", id=waiting, task_queue=waiting, schedule_to_close_timeout=timedelta(minutes=5)
    )
    async with PatientWorker(server.client, task_queue=served, activities=[idle]):

        async def measure() -> tuple[float, float, float]:
            await measure_server([server.client], recorder)
            return (
                meter.get(QUEUE_POLLERS, served, "activity"),
                meter.get(QUEUE_BACKLOG, waiting, "activity"),
                meter.get(QUEUE_BACKLOG_AGE, waiting, "activity"),
            )

        await wait_until("pollers, backlog and an age", measure, lambda all: all[0] and all[1] and all[2] > 1)
    await handle.terminate()

    assert meter.get(QUEUE_POLLERS, waiting, "activity") == 0
    assert meter.get(QUEUE_BACKLOG, served, "activity") == 0
    assert meter.get(QUEUE_BACKLOG, TENURE_QUEUE, "workflow") is not None
    assert meter.get(RUNS_OPEN, "active") >= 0
    assert meter.get(TEMPORAL_UP) == 1


async def test_a_hanging_event_loop_is_noticed_by_a_scrape(
    server: WorkflowEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The port still answers while the event loop hangs, and the time of its last turn does not change."""
    monkeypatch.setattr(worker_monitor, "WORKER_INTERVAL_SECONDS", 0.01)
    settings = Settings(metrics_port=find_free_range(), home=tmp_path, _env_file=None)
    runtime = create_worker_runtime(settings)
    recorder = MetricRecorder(runtime.metric_meter)

    def scrape() -> float:
        (found,) = re.findall(
            rf"^{WORKER_HEARTBEAT.name} (\S+)$", read_metrics(settings.metrics_port or 0), re.MULTILINE
        )
        return float(found)

    async with monitor_worker([server.client], settings, recorder, runtime.metric_meter, (SANDBOX_QUEUE,)):
        before = await wait_until("a heartbeat", lambda: asyncio.to_thread(scrape), ignored=ValueError)
        await wait_until("another heartbeat", lambda: asyncio.to_thread(scrape), lambda found: found != before)
        # From here on the loop hangs: these calls block it.
        hanging = [scrape() for _ in range(20)]

    assert len(set(hanging)) == 1
    assert hanging[0] > before


@slow
async def test_a_server_that_is_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client whose server does not answer any more sets the gauge to 0 and raises nothing."""
    meter = RecordingMeter()
    async with run_temporal_server() as server:
        await measure_server([server.client], MetricRecorder(meter))
        assert meter.get(TEMPORAL_UP) == 1
    monkeypatch.setattr(worker_monitor, "SERVER_TIMEOUT_SECONDS", 2.0)
    await measure_server([server.client], MetricRecorder(meter))

    assert meter.get(TEMPORAL_UP) == 0


@slow
async def test_a_server_that_refuses_a_question_is_up() -> None:
    """A namespace without the search attributes of runs is a fault of its own, not a server that is gone."""
    meter = RecordingMeter()
    async with run_temporal_server(search_attributes=[]) as server:
        with pytest.raises(RPCError, match="TenureStatus"):
            await measure_server([server.client], MetricRecorder(meter))

    assert meter.get(TEMPORAL_UP) == 1


async def test_nothing_is_measured_without_a_port(server: WorkflowEnvironment) -> None:
    """The server is not asked and no metric is made."""
    meter = RecordingMeter()
    noop = Runtime(telemetry=TelemetryConfig()).metric_meter

    async with monitor_worker([server.client], Settings(_env_file=None), MetricRecorder(meter), noop, ALL_QUEUES):
        await asyncio.sleep(0)

    assert meter.values == {}


@pytest.mark.parametrize("queues", [ALL_QUEUES, (SANDBOX_QUEUE,), (EMBED_QUEUE, BROWSER_QUEUE)])
async def test_only_the_worker_of_the_main_queue_asks_the_server(
    server: WorkflowEnvironment, queues: tuple[str, ...], tmp_path: Path
) -> None:
    """Other workers measure themselves; the gate before the programs' worker forbids more."""
    meter = RecordingMeter()
    noop = Runtime(telemetry=TelemetryConfig()).metric_meter
    settings = Settings(metrics_port=9464, home=tmp_path, _env_file=None)
    expected = TEMPORAL_UP if TENURE_QUEUE in queues else HOME_SIZE

    async with monitor_worker([server.client], settings, MetricRecorder(meter), noop, queues):
        await wait_until("the first measurement", lambda: meter.get(expected), lambda value: value is not None)

    assert (meter.get(TEMPORAL_UP) is not None) == (TENURE_QUEUE in queues)


async def test_a_measurement_that_fails_is_logged_and_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    """A fault of one measurement does not end the others, and the same fault is one line."""
    calls = 0

    async def measure() -> None:
        nonlocal calls
        calls += 1
        raise LookupError("no such thing")

    task = asyncio.create_task(worker_monitor.repeat(0.001, measure, "a metric cannot be measured"))
    await wait_until("three measurements", lambda: calls, lambda count: count >= 3)
    task.cancel()

    assert capsys.readouterr().out.count("a metric cannot be measured") == 1
