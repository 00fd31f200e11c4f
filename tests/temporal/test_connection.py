"""Reaching Temporal, and saying in one line why it cannot be reached."""

import asyncio
import socket
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr
from temporalio.api.workflowservice.v1 import GetSystemInfoRequest
from temporalio.client import Client
from temporalio.envconfig import ClientConfigProfile
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from benchmarks.support.drill.proxy import Proxy
from tenure.ownership import derive_gate_key
from tenure.settings import Settings
from tenure.temporal import connection
from tenure.temporal.gate.access_key import HOST, load_key
from tests.support.other_user import OTHER_USER, needs_root
from tests.support.ports import free_ports
from tests.support.tiers import slow


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


def test_only_the_gate_receives_a_key(tmp_path: Path) -> None:
    """A client of an owner sends a derived key on this machine, never the token; the home's key needs owners there."""
    token = "a" * 32
    ann = Settings(home=tmp_path, owner="ann", owner_token=SecretStr(token), _env_file=None)
    alone, shared = (
        Settings(home=tmp_path, owners=owners, _env_file=None) for owners in ({}, {"ann": SecretStr(token)})
    )
    local = [ClientConfigProfile(), ClientConfigProfile(address="127.0.0.1:7233")]
    others = [ClientConfigProfile(address="temporal.example:7233"), ClientConfigProfile(address=HOST, api_key="k")]

    def find_key(settings: Settings, profile: ClientConfigProfile, *, has_gate: bool) -> str:
        return connection._build_credentials(settings, profile, has_gate=has_gate).get("authorization", "")

    assert {find_key(ann, profile, has_gate=False) for profile in local} == {f"Bearer {derive_gate_key(token)}"}
    assert {find_key(ann, profile, has_gate=False) for profile in others} == {""}
    assert find_key(shared, local[0], has_gate=True) == f"Bearer {load_key(tmp_path)}"
    assert (find_key(shared, local[1], has_gate=False), find_key(alone, local[0], has_gate=True)) == ("", "")


async def test_server_that_never_speaks_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that accepts and stays silent is no Temporal server."""
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(connection.ServerUnreachable) as caught:
        await connection.connect(Settings(temporal_port=silent.getsockname()[1], _env_file=None))

    assert "it does not answer in time" in str(caught.value)


@slow
async def test_a_lost_connection_is_replaced(server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection on which nothing arrives any more, as after the restart of a router, is replaced within seconds."""
    proxy = Proxy(int(server.client.service_client.config.target_host.rpartition(":")[2]))
    await proxy.listen()
    monkeypatch.setenv("TEMPORAL_ADDRESS", f"127.0.0.1:{proxy.port}")
    client = await connection.connect(Settings(_env_file=None))
    await client.count_workflows()
    proxy.lose()

    async with asyncio.timeout(35):
        while not await answers(client):
            continue
    await proxy.close()


async def answers(client: Client) -> bool:
    """Return whether a server answers within a second."""
    try:
        await client.service_client.workflow_service.get_system_info(
            GetSystemInfoRequest(), retry=False, timeout=timedelta(seconds=1)
        )
    except RPCError:
        return False
    return True


@needs_root
async def test_a_server_of_another_user_is_refused(tmp_path: Path) -> None:
    """A program of another user on the local port could start workflows on this worker: it must be named to be used."""
    code = "s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", f"import os, socket, sys; os.setuid({OTHER_USER}); {code}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with pytest.raises(connection.ServerUnreachable, match="another user runs the program on this port"):
            await connection.connect(Settings(home=tmp_path, temporal_port=port, _env_file=None))
        process.communicate("")


async def test_a_stopped_gate_is_not_replaced_by_the_program_on_its_port(tmp_path: Path) -> None:
    """While the home has a gate's socket, no other program is asked, even if it took the port meanwhile."""
    with socket.socket(socket.AF_UNIX) as stopped:
        stopped.bind(str(tmp_path / "gate.sock"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken.settimeout(0.1)
        with pytest.raises(connection.ServerUnreachable):
            await connection.connect(Settings(home=tmp_path, temporal_port=taken.getsockname()[1], _env_file=None))
        with pytest.raises(TimeoutError):
            taken.accept()


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
