"""Watch a live worker: alerts and dashboard read its metrics, a run is one trace, and log lines name the run."""

import asyncio
import json
import os
import re
import signal
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from tenure.metrics import ALL_METRICS
from tests.architecture.promql import find_faults, parse_scrape, read_expressions
from tests.model_server import Fault, ModelServer
from tests.support.ports import free_ports
from tests.support.servers.otlp import Collector, ReceivedSpan
from tests.support.servers.temporal_server import run_temporal_server
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from tests.system.test_durability import around, started, worker_process
from workflows.runtime.task_queues import TENURE_QUEUE

pytestmark = slow

SECRET = "rennet"
"""Word of the documents and of no configuration."""

PRICES = "[models.gpt-5]\ninput = 1.0\noutput = 10.0\n"


def scrape(port: int, timeout: float = 30) -> str:
    """Return the metrics of a worker."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=timeout) as response:
        return str(response.read().decode())


async def scrape_until(port: int, wanted: str) -> str:
    """Return the metrics as soon as they match a pattern."""
    return await wait_until(
        f"metrics with {wanted}", lambda: asyncio.to_thread(scrape, port), re.compile(wanted, re.MULTILINE).search
    )


async def serving(log: Path) -> int:
    """Wait until the worker of a log serves its queues, and return the port of its metrics."""
    text = await wait_until("a worker", log.read_text, lambda text: "worker is serving" in text)
    (port,) = re.findall(r"http://127\.0\.0\.1:(\d+)/metrics", text)
    return int(port)


@dataclass(frozen=True)
class Observed:
    """Everything that a worker showed during one run."""

    run: str
    scrape: str
    spans: list[ReceivedSpan]
    bodies: list[bytes]
    log: list[Any]
    headers: list[Mapping[str, str]]


@pytest.fixture
async def own_server() -> AsyncIterator[Client]:
    """Run a server without runs and workers of other tests, which metrics of the server would count."""
    async with run_temporal_server() as environment:
        yield environment.client


@pytest.fixture(scope="module")
async def observed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Observed]:
    """Run a worker process with metrics, traces and JSON logs, a run whose model fails twice, and a broken request."""
    folder, port = tmp_path_factory.mktemp("observed"), free_ports(1)[0]
    (folder / "prices.toml").write_text(PRICES)
    # A server of its own: it is bound to the knowledge base of this folder.
    async with run_temporal_server() as server:
        with ModelServer() as model, Collector() as collector:
            for role in ("outliner", "planner"):
                model.fail(Fault(503), schema=role)
            environment = around(
                model,
                server.client,
                folder,
                TENURE_METRICS_PORT=str(port),
                TENURE_LOG_FORMAT="json",
                TENURE_LOG_LEVEL="DEBUG",
                TENURE_PRICES=str(folder / "prices.toml"),
                **collector.environment,
            )
            async with worker_process(environment, folder / "worker.log") as process:
                handle = await started(server.client, folder)
                broken = await server.client.start_workflow(
                    "AgentWorkflow", "no request", id=f"broken-{handle.id}", task_queue=TENURE_QUEUE
                )
                await handle.result()
                await scrape_until(port, r"^temporal_workflow_task_execution_failed_total.* [1-9]")
                await broken.terminate()
                text = await scrape_until(port, r'^tenure_runs_open\{state="active"\} 0$')
                process.send_signal(signal.SIGTERM)
                await process.wait()
            yield Observed(
                run=handle.id,
                scrape=text,
                spans=list(collector.spans),
                bodies=list(collector.bodies),
                log=[json.loads(line) for line in (folder / "worker.log").read_text().splitlines()],
                headers=[request.headers for request in model.requests],
            )


def value(text: str, name: str, **labels: str) -> float:
    """Return the sum of the series of a name with some labels."""
    found = 0.0
    for line in text.splitlines():
        if re.match(rf"{name}[{{ ]", line) and all(f'{key}="{one}"' in line for key, one in labels.items()):
            found += float(line.rpartition(" ")[2])
    return found


def test_every_expression_reads_what_the_worker_serves(observed: Observed) -> None:
    """Each metric, label and value of the alert rules and of the dashboard is in the scrape of a live worker."""
    series = parse_scrape(observed.scrape)
    faults = {name: found for name, text in read_expressions().items() if (found := find_faults(text, series))}

    assert faults == {}


def test_the_metrics_of_a_run_are_those_of_its_work(observed: Observed) -> None:
    """Calls, tokens, money, phases, chunks, searches and the end of the run are counted as they happened."""
    text = observed.scrape

    assert value(text, "tenure_runs_total", status="done") == 1
    assert value(text, "tenure_run_phases_total", phase="research") == 1
    assert value(text, "tenure_run_phase_seconds_count", phase="research") == 1
    assert value(text, "tenure_ingested_files_total", result="added") == 2
    assert value(text, "tenure_ingested_chunks_total", origin="files") >= 2
    assert value(text, "tenure_search_seconds_count") >= 1
    assert value(text, "tenure_cache_lookups_total", cache="vectors") >= 1
    assert value(text, "tenure_model_calls_total", role="outliner", outcome="unavailable") == 1
    assert value(text, "tenure_model_calls_total", role="outliner", outcome="answered") == 1
    assert value(text, "tenure_activity_failures_total", activity="outliner", error="ModelUnavailable") == 1
    answers = value(text, "tenure_model_answers_total", priced="yes")
    assert answers == value(text, "tenure_model_answers_total") >= 5
    spent = value(text, "tenure_model_tokens_total", kind="input") + 10 * value(
        text, "tenure_model_tokens_total", kind="output"
    )
    assert value(text, "tenure_model_cost_microdollars_total") == pytest.approx(spent, abs=answers)
    assert value(text, "tenure_temporal_up") == 1
    assert value(text, "tenure_task_queue_pollers", queue="tenure-model") == 1
    assert value(text, "tenure_home_free_bytes") > 0
    assert value(text, "tenure_worker_memory_bytes") > 100e6


def test_labels_of_the_scrape_are_bounded(observed: Observed) -> None:
    """No series of the product names the run, and each metric has the labels of its definition."""
    series = parse_scrape(observed.scrape)
    sdk = {"namespace", "task_queue", "workflow_type", "le"}

    assert observed.run not in observed.scrape
    assert SECRET not in observed.scrape
    for metric in ALL_METRICS:
        name = f"{metric.name}_count" if metric.kind == "histogram" else metric.exported_name
        for labels in series[name]:
            assert labels.keys() - sdk == set(metric.labels), name


def test_a_run_is_one_connected_trace(observed: Observed) -> None:
    """Workflows, activities and HTTP requests form one tree under the workflow of the run."""
    (trace,) = {span.trace for span in observed.spans if span.attributes.get("tenure.run") == observed.run}
    spans = [span for span in observed.spans if span.trace == trace]
    by_id = {span.id: span for span in spans}
    names = Counter(span.name for span in spans)

    assert [span.name for span in spans if not span.parent] == ["AgentWorkflow"]
    assert len(by_id) == len(spans)
    assert {span.name for span in spans if span.parent and span.parent not in by_id} == set()
    assert {"ResearchWorkflow", "SpiralWorkflow"} <= names.keys()
    assert names["outliner"] == 2
    assert [span.failed for span in spans if span.name == "outliner"].count(True) == 1
    for span in spans:
        assert span.service == "tenure"
        assert span.start <= span.end
        if span.name == "POST":
            assert by_id[span.parent].attributes["temporal.task_queue"] == "tenure-model"
    (outline,) = (span for span in spans if span.name == "outliner" and not span.failed)
    assert by_id[outline.parent].name == "ResearchWorkflow"


def test_the_model_server_can_continue_the_trace(observed: Observed) -> None:
    """Each request names the span of its HTTP request."""
    requests = {f"00-{span.trace}-{span.id}-01" for span in observed.spans if span.name == "POST"}
    sent = [headers["traceparent"] for headers in observed.headers if "traceparent" in headers]

    assert set(sent) == requests
    assert len(sent) == len(requests) >= 5


def test_spans_contain_no_text(observed: Observed) -> None:
    """No prompt, document, answer or message of an error reaches the collector."""
    sent = b"".join(observed.bodies)

    assert sent
    for text in (SECRET, "How are bread", "curdled", "model-server", "answered 503", "Bread is made", str(Path.home())):
        assert text.encode() not in sent


def test_every_log_line_of_an_activity_names_it(observed: Observed) -> None:
    """All lines are JSON; those of activities and workflows name run, activity, attempt and cycle."""
    lines = [line for line in observed.log if line.get("run") == observed.run]
    failed = {line["activity"]: line for line in lines if "activity" in line and line["level"] == "warning"}

    assert all({"event", "level", "timestamp", "logger"} <= line.keys() for line in observed.log)
    assert failed.keys() == {"outliner", "planner"}
    assert all(line["activity_id"] and line["attempt"] == 1 for line in failed.values())
    assert all(line["trace_id"] == observed.spans[0].trace for line in failed.values())
    assert (failed["outliner"].get("cycle"), failed["planner"].get("cycle")) == (None, 2)
    assert not any("temporal_activity" in line or "temporal_workflow" in line for line in observed.log)


async def test_two_workers_of_a_home_serve_metrics_on_two_ports(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """A successor that starts before its predecessor has ended takes the next port, and its log names it."""
    port = free_ports(1)[0]
    with ModelServer() as model:
        environment = around(model, server.client, tmp_path, TENURE_METRICS_PORT=str(port))
        async with worker_process(environment, tmp_path / "first.log"):
            first = await serving(tmp_path / "first.log")
            async with worker_process(environment, tmp_path / "second.log"):
                second = await serving(tmp_path / "second.log")
                texts = [await scrape_until(one, r"^tenure_worker_info") for one in (first, second)]

    assert port <= first < second < port + 10
    assert all("tenure_worker_heartbeat_timestamp_seconds" in text for text in texts)


async def test_a_stopped_worker_answers_no_scrape(server: WorkflowEnvironment, tmp_path: Path) -> None:
    """Prometheus sees a process that the system has stopped as down, and as up when it continues."""
    with ModelServer() as model:
        environment = around(model, server.client, tmp_path, TENURE_METRICS_PORT=str(free_ports(1)[0]))
        async with worker_process(environment, tmp_path / "worker.log") as process:
            port = await serving(tmp_path / "worker.log")
            process.send_signal(signal.SIGSTOP)
            await asyncio.to_thread(os.waitid, os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
            with pytest.raises(OSError, match="timed out"):
                await asyncio.to_thread(scrape, port, 3)
            process.send_signal(signal.SIGCONT)
            text = await scrape_until(port, r"^tenure_worker_info")

    assert "tenure_worker_heartbeat_timestamp_seconds" in text


async def test_a_run_without_a_model_is_counted_as_such(own_server: Client, tmp_path: Path) -> None:
    """Fallbacks have an outcome of their own and no tokens; a run without a tracer logs no trace."""
    port = free_ports(1)[0]
    with ModelServer() as model:
        environment = around(model, own_server, tmp_path, TENURE_METRICS_PORT=str(port), TENURE_LOG_FORMAT="json")
        for name in model.environment:
            del environment[name]
        async with worker_process(environment, tmp_path / "worker.log"):
            handle = await started(own_server, tmp_path)
            await handle.result()
            text = await asyncio.to_thread(scrape, port)
        asked = len(model.requests)
    lines = [json.loads(line) for line in (tmp_path / "worker.log").read_text().splitlines()]

    assert asked == 0
    assert value(text, "tenure_model_calls_total", outcome="offline") >= 5
    assert value(text, "tenure_model_calls_total") == value(text, "tenure_model_calls_total", outcome="offline")
    assert "tenure_model_tokens_total" not in text
    assert value(text, "tenure_runs_total", status="done") == 1
    assert not any("trace_id" in line for line in lines)
