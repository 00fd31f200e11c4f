"""Tests of spans as a collector receives them."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.tracing.configuration import configure_tracing
from tenure.tracing.positions import WorkflowSpan, compute_span_id, compute_trace_id, format_traceparent
from tenure.tracing.tracer import Tracer, parse_traceparent
from tests.support.servers.otlp import Collector
from tests.support.tiers import slow

ROOT = Path(__file__).resolve().parents[2]

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """Give a collector that the environment names."""
    with Collector() as made:
        for name, text in made.environment.items():
            monkeypatch.setenv(name, text)
        yield made
    configure_tracing({})


def configured() -> Tracer:
    """Return the tracer of the environment."""
    tracer = configure_tracing()
    assert tracer is not None
    return tracer


def test_spans_arrive_with_their_parents(collector: Collector) -> None:
    """A span continues the trace of its parent, and an inner span is its child."""
    tracer = configured()
    with tracer.start_span("router", "server", {"temporal.activity.attempt": 2}, parent=PARENT) as outer:
        assert outer.trace_id == TRACE
        with tracer.start_span("POST", "client", {}) as inner:
            headers: dict[str, str] = {}
            inner.inject(headers)
    tracer.close()

    request, activity = collector.spans
    assert (activity.name, activity.trace, activity.parent) == ("router", TRACE, SPAN)
    assert activity.attributes == {"temporal.activity.attempt": 2}
    assert (request.parent, request.trace) == (activity.id, TRACE)
    assert headers == {"traceparent": f"00-{TRACE}-{request.id}-01"}
    assert {activity.service, request.service} == {"tenure"}


def test_a_span_without_a_parent_begins_a_trace(collector: Collector) -> None:
    """An empty or malformed position begins a trace of its own, also inside another span."""
    tracer = configured()
    with tracer.start_span("outer", "server", {}, parent=""), tracer.start_span("inner", "server", {}, parent="00-1"):
        pass
    tracer.close()

    assert [span.parent for span in collector.spans] == ["", ""]
    assert len({span.trace for span in collector.spans}) == 2


def test_an_error_marks_a_span_without_its_message(collector: Collector) -> None:
    """The type of an error is sent; its message could quote a document."""
    tracer = configured()
    with pytest.raises(ValueError, match="lighthouse"), tracer.start_span("a", "server", {}, parent=""):
        raise ValueError("the lighthouse keeper wrote this")
    with pytest.raises(OSError, match="lighthouse"), tracer.start_span("b", "server", {}, parent="") as span:
        span.set_error("KnowledgeRefused")
        raise OSError("the lighthouse keeper wrote this")
    tracer.close()

    assert [(span.failed, span.attributes["error.type"]) for span in collector.spans] == [
        (True, "ValueError"),
        (True, "KnowledgeRefused"),
    ]
    assert not any(b"lighthouse" in body for body in collector.bodies)


def test_a_workflow_has_the_position_that_was_computed(collector: Collector) -> None:
    """Ids, times, parent and error of a workflow's span are those that it was recorded with."""
    tracer = configured()
    own = format_traceparent(compute_trace_id("first"), compute_span_id("run"), sampled=True)
    tracer.record_workflow(WorkflowSpan("AgentWorkflow", own, PARENT, 100.5, 107.25, {"tenure.run": "r"}, "failed"))
    tracer.record_workflow(WorkflowSpan("Unsampled", own[:-2] + "00", "", 1.0, 2.0, {}, ""))
    tracer.close()

    (span,) = collector.spans
    assert (span.trace, span.id, span.parent) == (compute_trace_id("first"), compute_span_id("run"), SPAN)
    assert (span.start, span.end, span.failed) == (100_500_000_000, 107_250_000_000, True)
    assert span.attributes == {"tenure.run": "r", "error.type": "failed"}


def test_the_sampler_decides_for_a_whole_trace(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decision depends on the id of the trace, and children follow it."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    tracer = configured()
    traces = [compute_trace_id(str(number)) for number in range(200)]
    sampled = [trace for trace in traces if tracer.is_sampled(trace)]
    for trace in traces:
        position = format_traceparent(trace, SPAN, sampled=trace in sampled)
        with tracer.start_span("router", "server", {}, parent=position):
            pass
    tracer.close()

    assert 60 < len(sampled) < 140
    assert {span.trace for span in collector.spans} == set(sampled)


def test_a_name_of_the_service_is_respected(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard variables name the service."""
    monkeypatch.setenv("OTEL_SERVICE_NAME", "research")
    tracer = configured()
    with tracer.start_span("a", "server", {}, parent=""):
        pass
    tracer.close()

    assert [span.service for span in collector.spans] == ["research"]


def test_a_collector_that_is_gone_delays_the_end_by_seconds_only(collector: Collector) -> None:
    """Closing returns within its limit although no span can be sent."""
    tracer = configured()
    collector.__exit__(None, None, None)
    with tracer.start_span("a", "server", {}, parent=""):
        pass
    begun = time.monotonic()
    tracer.close()
    elapsed = time.monotonic() - begun
    collector.__enter__()

    assert elapsed < 20


@pytest.mark.parametrize(
    "text", ["", "00", "00-x-y-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01", "a-b-c-d"]
)
def test_a_malformed_position_is_none(text: str) -> None:
    """Positions that the W3C recommendation does not allow are ignored."""
    assert parse_traceparent(text) is None


@slow
def test_a_collector_that_never_answers_does_not_hold_a_process() -> None:
    """A process with spans to send ends although the collector accepts connections and says nothing."""
    program = (
        "from tenure.tracing.configuration import configure_tracing\n"
        "tracer = configure_tracing()\n"
        "for number in range(5000):\n"
        "    with tracer.start_span('a', 'server', {}, parent=''):\n"
        "        pass\n"
        "tracer.close()\n"
        "print('closed')\n"
    )
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        ran = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert (ran.returncode, ran.stdout) == (0, "closed\n")
