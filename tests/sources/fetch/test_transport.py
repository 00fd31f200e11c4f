"""Tests of guarded connections: only to checked addresses, without proxies, and reused."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

import httpcore
import pytest

from tenure.sources.fetch.address_guard import AddressGuard
from tenure.sources.fetch.errors import RequestRefused
from tenure.sources.fetch.transport import GuardedConnections, GuardedNetworkBackend
from tests.support.waiting import wait_until
from tests.web import Reply, Web
from tests.web.http2 import secure_server


class Recorder(httpcore.AsyncNetworkBackend):
    """Fake network in which some addresses respond."""

    def __init__(self, *absent: str) -> None:
        self.absent = absent
        self.asked: list[tuple[str, int]] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is the interface's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.asked.append((host, port))
        if host in self.absent:
            raise httpcore.ConnectError
        return httpcore.AsyncMockStream([])


def _guard(*answers: Sequence[str]) -> AddressGuard:
    given = iter(answers)

    async def resolve(host: str, port: int) -> Sequence[str]:
        return next(given)

    return AddressGuard(resolver=resolve)


async def _read(connections: GuardedConnections, url: str) -> httpcore.Response:
    """Return a response with its body."""
    async with connections.get(url, {}) as response:
        await response.aread()
        return response


async def test_a_connection_uses_the_checked_address() -> None:
    """DNS rebinding has no effect: the name is resolved once."""
    network = Recorder()
    await GuardedNetworkBackend(_guard(["93.184.216.34"], ["127.0.0.1"]), network).connect_tcp("host.example", 443)

    assert network.asked == [("93.184.216.34", 443)]


async def test_a_host_is_reached_at_any_of_its_addresses() -> None:
    """The addresses are tried in order, and the last error is raised."""
    network = Recorder("93.184.216.34", "1.1.1.1")
    backend = GuardedNetworkBackend(_guard(["93.184.216.34", "8.8.8.8"], ["93.184.216.34", "1.1.1.1"]), network)
    await backend.connect_tcp("host.example", 443)

    assert network.asked == [("93.184.216.34", 443), ("8.8.8.8", 443)]
    with pytest.raises(httpcore.ConnectError):
        await backend.connect_tcp("host.example", 443)


async def test_unix_sockets_are_refused() -> None:
    """Unix sockets are not reachable."""
    with pytest.raises(RequestRefused):
        await GuardedNetworkBackend(AddressGuard()).connect_unix_socket("/run/docker.sock")


async def test_name_resolution_times_out() -> None:
    """A name server that does not respond counts as a server that does not respond."""

    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return ()

    with pytest.raises(httpcore.ConnectTimeout):
        await GuardedNetworkBackend(AddressGuard(resolver=never)).connect_tcp("host.example", 443, timeout=0.01)


async def test_certificate_and_host_are_those_of_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection goes to a checked address, over HTTP/2, and the certificate is verified for the name."""

    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    async with secure_server("secure.example", tmp_path) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.authority))
        guard = AddressGuard([f"secure.example:{server.port}", f"other.example:{server.port}"], resolver=resolve)
        connections = GuardedConnections(guard, 2)
        address = f"https://secure.example:{server.port}/page"
        answers = [await _read(connections, address) for _ in range(2)]
        with pytest.raises(httpcore.ConnectError, match="other"):
            await _read(connections, f"https://other.example:{server.port}/")
        await connections.aclose()

    assert [answer.content for answer in answers] == [b"/page"] * 2
    assert [answer.extensions["http_version"] for answer in answers] == [b"HTTP/2"] * 2
    wanted = f"request secure.example:{server.port}"
    assert server.names == ["handshake secure.example", wanted, wanted, "handshake other.example"]


async def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would resolve names without the guard, so it is not used."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with Web() as web:
        connections = GuardedConnections(AddressGuard([web.allow]), 2)
        response = await _read(connections, web.build_url("/moved"))
        await connections.aclose()

        assert response.status == 302


async def test_errors_of_a_connection_are_distinguished() -> None:
    """A broken response, an address without a server and a refused address have errors of their own."""
    with Web() as web:
        connections = GuardedConnections(AddressGuard([web.allow, "127.0.0.1:9"]), 2)
        with pytest.raises(httpcore.RemoteProtocolError):
            await _read(connections, web.build_url("/hangs-up"))
        with pytest.raises(httpcore.ConnectError):
            await _read(connections, "http://127.0.0.1:9/")
        with pytest.raises(RequestRefused, match="TENURE_FETCH_ALLOW"):
            await _read(connections, "http://127.0.0.2/")
        await connections.aclose()


async def test_a_connection_is_reused() -> None:
    """An idle connection takes the next request, and a busy one does not."""
    with Web() as web:
        connections = GuardedConnections(AddressGuard([web.allow]), 2)
        for _ in range(3):
            await _read(connections, web.build_url("/cookie"))
        assert web.accepted == 1
        async with connections.get(web.build_url("/drip"), {}):
            await _read(connections, web.build_url("/cookie"))
        # The first one ended in the middle of its body: nothing else can come over its connection.
        await _read(connections, web.build_url("/cookie"))
        await connections.aclose()

        assert web.accepted == 2


async def test_a_connection_that_its_server_closed_is_not_used() -> None:
    """A closed connection is detected before a request is sent over it."""
    with Web(extra={"/": lambda request: Reply(b"x" * 9, breaks_after=9)}) as web:
        connections = GuardedConnections(AddressGuard([web.allow]), 2)
        for _ in range(2):
            assert (await _read(connections, web.build_url("/"))).content == b"x" * 9
            await wait_until("closed connections", lambda: not web.open)
        await connections.aclose()

        assert web.accepted == 2


async def test_idle_connections_are_limited() -> None:
    """The connection that was used longest ago is closed."""
    with Web() as first, Web() as second:
        connections = GuardedConnections(AddressGuard([first.allow, second.allow]), 1)
        for web in (first, second, second, first):
            await _read(connections, web.build_url("/cookie"))
        await connections.aclose()

        assert (first.accepted, second.accepted) == (2, 1)
