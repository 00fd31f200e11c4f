"""The rule of every port: a connection of another user of the machine gets no byte."""

import asyncio
import os
import socket
import sys
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest
from starlette.responses import PlainTextResponse

from tenure.encryption_keys import KEY_BYTES
from tenure.settings import Settings
from tenure.temporal.codec_server import CodecServer
from tenure.temporal.encryption import EncryptionCodec
from tenure.temporal.gate import listeners
from tenure.temporal.gate.http_server import serve_app
from tenure.temporal.gate.listeners import UserListener, listen
from tenure.temporal.health.http_server import serve_health
from tenure.temporal.health.monitor import WorkerMonitor
from tests.mcp_server.conftest import serve_http
from tests.site.conftest import Site, idle_site
from tests.support.other_user import needs_root, run_as_other_user
from tests.temporal.gate.conftest import exchange, status_of

__all__ = ["idle_site"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux reveals the users of connections")

ASK = """
for request in (
    f"GET / HTTP/1.1\\r\\nhost: 127.0.0.1:{sys.argv[1]}\\r\\n{sys.argv[2]}\\r\\n\\r\\n".encode(),
    b"GET /livez HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n",
    b"GET / HTT",
):
    received = b""
    try:
        with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10) as connection:
            connection.sendall(request)
            received = connection.recv(100)
    except OSError as error:
        if isinstance(error, TimeoutError):
            received = b"kept open"
    print(received)
"""
"""Requests of another user: with a stolen key or cookie, without one, and an incomplete one."""

NOTHING = "b''\n" * 3


async def ask_as_other_user(port: int, header: str = "accept: */*") -> str:
    """Return the replies to the requests of another user."""
    return await asyncio.to_thread(run_as_other_user, "import socket, sys", ASK, str(port), header)


@needs_root
async def test_the_page_refuses_another_user(idle_site: Site) -> None:
    """A stolen cookie and the stolen key of the home give nothing to another user, while the owner is served."""
    key = idle_site.client().headers["authorization"]
    async with idle_site.client(owner=False) as browser:
        entered = await browser.get(idle_site.link)
        cookie = entered.headers["set-cookie"].partition(";")[0]
        received = [
            await ask_as_other_user(idle_site.port, f"{name}: {value}")
            for name, value in (("cookie", cookie), ("authorization", key))
        ]
        shown = await browser.get("/static/site.css")

    assert received == [NOTHING, NOTHING]
    assert shown.status_code == 200


@needs_root
async def test_mcp_over_http_refuses_another_user(tmp_path: Path) -> None:
    """The key of the home gives nothing to another user."""
    settings = Settings(home=tmp_path, _env_file=None)
    async with serve_http(settings) as url:
        port = httpx.URL(url).port
        assert port is not None
        assert await ask_as_other_user(port) == NOTHING
        async with httpx.AsyncClient() as client:
            assert (await client.get(url)).status_code == 401


@needs_root
def test_codec_server_and_health_refuse_another_user(tmp_path: Path) -> None:
    """Neither payloads nor the health of a worker are shown to another user."""
    settings = Settings(home=tmp_path, health_port=0, _env_file=None)
    with (
        CodecServer(EncryptionCodec({"a": bytes(KEY_BYTES)}), tmp_path, 0, 8233) as codec,
        serve_health(settings, Mock(spec=WorkerMonitor)) as health,
    ):
        for port in (codec.port, health):
            assert run_as_other_user("import socket, sys", ASK, str(port), "accept: */*") == NOTHING
        assert httpx.get(f"http://127.0.0.1:{health}/").status_code == 404
        assert httpx.get(f"http://127.0.0.1:{codec.port}/healthz").status_code == 200


@needs_root
async def test_a_listener_goes_on_after_refusals(caplog: pytest.LogCaptureFixture) -> None:
    """Each refused user is reported once, and the next connection of this user is served."""
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        async with serve_app(PlainTextResponse("served"), listener):
            assert await ask_as_other_user(port) == NOTHING
            assert status_of(await exchange(port, b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")) == 200
    assert [f"connections of user 65534 to port {port} are refused"] == caplog.messages


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_this_user_connects(host: str) -> None:
    """A connection of this user is accepted over both families of addresses."""
    with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2]):
        assert isinstance(listener, UserListener)
        accepted, _ = listener.accept()
        accepted.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_other_users_are_refused(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection of a user that is not permitted is closed, also over IPv6."""
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000)
    monkeypatch.setattr(listeners, "ROOT", 4_000_001)
    with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2]) as client:
        with pytest.raises(ConnectionAbortedError):
            listener.accept()
        assert client.recv(1) == b""


def test_an_address_for_other_machines_has_no_rule() -> None:
    """The kernel does not know the users of other machines."""
    with listen("0.0.0.0", 0) as listener:
        assert not isinstance(listener, UserListener)


def test_a_closed_listener_leaves_no_descriptor() -> None:
    """The tables of connections are closed with the socket."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        listen("127.0.0.1", 0).close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
