"""Tests of the worker's runtime: the port of the metrics, and messages of the SDK in the log."""

import socket
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tenure.metrics import RUNS_OPEN, MetricRecorder
from tenure.settings import Settings
from tenure.temporal import telemetry
from tenure.temporal.telemetry import MAX_PORTS, create_worker_runtime, find_metrics_address


@contextmanager
def listening(port: int = 0) -> Iterator[int]:
    """Listen on a port of the loopback interface."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        yield int(taken.getsockname()[1])


def find_free_range() -> int:
    """Return the first of as many free ports as are tried."""
    while True:
        with ExitStack() as stack:
            try:
                first = stack.enter_context(listening())
                if first + MAX_PORTS < 65535:
                    for port in range(first + 1, first + MAX_PORTS):
                        stack.enter_context(listening(port))
                    return first
            except OSError:
                continue


def read_metrics(port: int) -> str:
    """Return the metrics that a port serves."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as response:
        return str(response.read().decode())


def test_metrics_are_off_without_a_port(capsys: pytest.CaptureFixture[str]) -> None:
    """A runtime without a port records nothing and says nothing."""
    runtime = create_worker_runtime(Settings(_env_file=None))

    MetricRecorder(runtime.metric_meter).set(RUNS_OPEN, 1, "active")
    assert capsys.readouterr().out == ""


def test_metrics_are_served_on_the_port_of_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    """The product's metrics are at /metrics, and a log line names the address."""
    port = find_free_range()
    runtime = create_worker_runtime(Settings(metrics_port=port, _env_file=None))

    MetricRecorder(runtime.metric_meter).set(RUNS_OPEN, 3, "active")

    assert 'tenure_runs_open{state="active"} 3\n' in read_metrics(port)
    assert f"http://127.0.0.1:{port}/metrics" in capsys.readouterr().out


def test_metrics_are_bound_to_the_loopback_interface() -> None:
    """Without another setting, no other machine reaches the port."""
    assert Settings(_env_file=None).metrics_address == "127.0.0.1"
    assert Settings(_env_file=None).metrics_port is None


def test_a_taken_port_leads_to_the_next_one() -> None:
    """Two runtimes of one setting serve on two ports."""
    port = find_free_range()
    settings = Settings(metrics_port=port, _env_file=None)
    runtimes = [create_worker_runtime(settings), create_worker_runtime(settings)]

    for number, runtime in enumerate(runtimes):
        MetricRecorder(runtime.metric_meter).set(RUNS_OPEN, number, "active")
    assert [f'state="active"}} {number}\n' in read_metrics(port + number) for number in (0, 1)] == [True, True]


def test_no_free_port_is_an_error_of_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names the setting, the range and the address."""
    monkeypatch.setattr(telemetry, "MAX_PORTS", 1)
    with (
        listening() as port,
        pytest.raises(ValueError, match=rf"TENURE_METRICS_PORT: the ports {port} to {port} of 127"),
    ):
        find_metrics_address("127.0.0.1", port)


def test_an_address_of_another_machine_is_an_error() -> None:
    """The line names address and reason."""
    with pytest.raises(ValueError, match=r"metrics cannot be served at 192\.0\.2\.1, port 9464: "):
        find_metrics_address("192.0.2.1", 9464)


def test_a_port_taken_meanwhile_is_an_error_of_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that takes the port between the check and the start of the server leads to the same kind of line."""
    with listening() as port:
        monkeypatch.setattr(telemetry, "find_metrics_address", lambda address, port: f"{address}:{port}")

        with pytest.raises(ValueError, match="TENURE_METRICS_PORT: metrics cannot be served at"):
            create_worker_runtime(Settings(metrics_port=port, _env_file=None))


def test_addresses_of_both_versions_are_written_for_the_server() -> None:
    """An IPv6 address is written in brackets."""
    port = find_free_range()

    assert find_metrics_address("0.0.0.0", port) == f"0.0.0.0:{port}"
    assert find_metrics_address("::1", port) == f"[::1]:{port}"


@pytest.mark.parametrize("address", ["localhost", "metrics.test", "127.0.0", "", "127.0.0.1:9464"])
def test_a_name_is_no_address(address: str) -> None:
    """A setting that is no IP address is refused with an example."""
    with pytest.raises(ValueError, match=r"it is an IP address, such as 127\.0\.0\.1"):
        Settings(metrics_address=address, _env_file=None)
