"""Reaching Temporal, and saying in one line why it cannot be reached."""

import socket

import pytest

from tenure.settings import Settings
from tenure.temporal import connection
from tests.temporal.stack.conftest import free_ports


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no server configured, whatever the machine's environment says."""
    for name in ("ADDRESS", "NAMESPACE", "API_KEY", "PROFILE"):
        monkeypatch.delenv(f"TEMPORAL_{name}", raising=False)


async def test_refused_connection_names_address_and_reason() -> None:
    """A refused local connection names the address in one line."""
    port = free_ports(1)[0]

    with pytest.raises(connection.ServerUnreachable) as caught:
        await connection.connect(Settings(temporal_port=port, _env_file=None))

    assert caught.value.address == f"127.0.0.1:{port}"
    assert str(caught.value) == f"cannot reach the Temporal server at 127.0.0.1:{port}: connection refused"


async def test_server_that_never_speaks_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that accepts and stays silent is no Temporal server."""
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(connection.ServerUnreachable) as caught:
        await connection.connect(Settings(temporal_port=silent.getsockname()[1], _env_file=None))

    assert "it does not answer in time" in str(caught.value)


async def test_configured_address_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """TEMPORAL_ADDRESS takes precedence over the port of the settings."""
    monkeypatch.setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")

    with pytest.raises(connection.ServerUnreachable, match=r"at 127\.0\.0\.1:1: "):
        await connection.connect(Settings(_env_file=None))


def test_broken_configuration_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile that does not exist is the configuration's fault, said in one line."""
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", "/proc/none/temporal.toml")
    monkeypatch.setenv("TEMPORAL_PROFILE", "nowhere")

    with pytest.raises(connection.ServerUnreachable, match=r"TEMPORAL_\* configuration is not valid"):
        connection.load_profile()
