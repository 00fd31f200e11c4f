"""Tests of when traces are sent: only with an endpoint, and only if the extra is installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.tracing import configuration
from tenure.tracing.configuration import TracingUnavailable, configure_tracing, get_tracer
from tests.support.tiers import slow

ROOT = Path(__file__).resolve().parents[2]
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_SERVICE_NAME": "research"},
        {**ENDPOINT, "OTEL_SDK_DISABLED": "true"},
        {**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_nothing_is_sent_without_an_endpoint(environment: dict[str, str]) -> None:
    """Other variables of OpenTelemetry turn nothing on, and two of them turn everything off."""
    assert configure_tracing(environment) is None
    assert get_tracer() is None


@pytest.mark.parametrize("variable", ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
def test_a_missing_extra_is_named_with_its_command(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the variable that asks for traces, and the command that installs the extra."""
    monkeypatch.setattr(configuration, "PACKAGES", ("opentelemetry.sdk", "opentelemetry.nowhere.at.all"))

    with pytest.raises(TracingUnavailable) as raised:
        configure_tracing({variable: "http://127.0.0.1:9"})

    assert str(raised.value).startswith(f"{variable} is set")
    assert "uv sync --extra otel" in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
    assert get_tracer() is None


def test_another_protocol_is_refused() -> None:
    """The line names the variable and the supported protocol."""
    with pytest.raises(TracingUnavailable, match=r"OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc'; only 'http/protobuf'"):
        configure_tracing({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})


@slow
def test_a_worker_without_an_endpoint_imports_no_sdk() -> None:
    """Importing the worker and configuring it without an endpoint leaves OpenTelemetry's SDK out."""
    program = (
        "import sys, worker; worker.start_tracing(); "
        "print([name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))])"
    )
    kept = {name: text for name, text in os.environ.items() if not name.startswith("OTEL_")}
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=kept, capture_output=True, text=True, check=True
    )

    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_worker_without_the_extra_works_without_traces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The worker logs the reason in one line and starts."""
    import worker

    monkeypatch.setattr(configuration, "PACKAGES", ("opentelemetry.nowhere",))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")

    assert worker.start_tracing() is None
    out = capsys.readouterr().out
    assert out.count("no traces are sent") == 1 and "uv sync --extra otel" in out
