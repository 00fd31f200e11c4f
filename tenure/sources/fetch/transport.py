"""Connect only to addresses that the guard has checked.

A name is resolved once per connection, and the connection uses a checked address, so DNS rebinding has no effect. TLS
certificate and `Host` header are those of the name. They are used without an HTTP client, so cookies,
redirects, credentials and proxies of the environment, which would resolve names without the guard, do not exist.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

import httpcore
import httpx

from tenure.sources.fetch.address_guard import AddressGuard
from tenure.sources.fetch.errors import RequestRefused

_CONNECT_TIMEOUT_SECONDS: Final = 10.0
"""Timeout of a connection attempt; the transfer as a whole has its own limit."""
_KEEPALIVE_SECONDS: Final = 30.0


class GuardedNetworkBackend(httpcore.AsyncNetworkBackend):
    """Network backend that connects to checked addresses."""

    def __init__(self, guard: AddressGuard, inner: httpcore.AsyncNetworkBackend | None = None) -> None:
        self._guard = guard
        self._inner = inner or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is the interface's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of a host that accepts a connection."""
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._guard.resolve(host, port)
        except TimeoutError:
            raise httpcore.ConnectTimeout from None
        *others, last = addresses
        for address in others:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue  # one reachable address is enough
        return await self._inner.connect_tcp(last, port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is the interface's
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Refuse to connect to a Unix socket."""
        raise RequestRefused("Unix sockets are not part of the web")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._inner.sleep(seconds)


class GuardedConnections:
    """Guarded connections, with HTTP/2 where the server supports it.

    A connection carries one request at a time and is reused for the next one to the same origin. Rate-limited fetching
    needs no more pooling; the pool of `httpcore` takes four times the computing time for each page, since it searches
    all connections for each request.
    """

    def __init__(self, guard: AddressGuard, max_idle: int) -> None:
        self._backend, self._max_idle = GuardedNetworkBackend(guard), max_idle
        self._idle: list[tuple[httpcore.Origin, httpcore.AsyncHTTPConnection]] = []

    @asynccontextmanager
    async def get(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[httpcore.Response]:
        """Send a GET request for a canonical URL, and yield its response with a streaming body.

        Raises:
            RequestRefused: the host is forbidden.
            NoResponse: the name does not exist.
            httpcore.ConnectError: no address accepts a connection.
            httpcore.ConnectTimeout: no address accepts a connection in time.
            httpcore.NetworkError: the connection is lost.
            httpcore.ProtocolError: the server sends no valid HTTP.
        """
        request = httpcore.Request(
            "GET",
            url,
            headers=[("host", urlsplit(url).netloc), *headers.items()],
            extensions={"timeout": {"connect": _CONNECT_TIMEOUT_SECONDS}},
        )
        connection, response = await self._send(request)
        try:
            yield response
        finally:
            try:
                await response.aclose()
            finally:
                await self._release(request.url.origin, connection)

    async def aclose(self) -> None:
        """Close all idle connections."""
        while self._idle:
            await self._idle.pop()[1].aclose()

    async def _send(self, request: httpcore.Request) -> tuple[httpcore.AsyncHTTPConnection, httpcore.Response]:
        while True:
            connection = await self._get_connection(request.url.origin)
            try:
                return connection, await connection.handle_async_request(request)
            except httpcore.ConnectionNotAvailable:
                await connection.aclose()  # it ended just now; a new one is not refused
            except BaseException:
                await connection.aclose()
                raise

    async def _get_connection(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection:
        """Return the most recently used idle connection to an origin, or a new one."""
        for index in reversed(range(len(self._idle))):
            if self._idle[index][0] == origin:
                connection = self._idle.pop(index)[1]
                if not connection.has_expired() and connection.is_available():
                    return connection
                await connection.aclose()
                return await self._get_connection(origin)
        return httpcore.AsyncHTTPConnection(
            origin, self._ssl_context, keepalive_expiry=_KEEPALIVE_SECONDS, http2=True, network_backend=self._backend
        )

    async def _release(self, origin: httpcore.Origin, connection: httpcore.AsyncHTTPConnection) -> None:
        """Keep a connection after a complete response; close it if it is not reusable."""
        if not connection.is_idle() or connection.is_closed():
            await connection.aclose()
            return
        self._idle.append((origin, connection))
        if len(self._idle) > self._max_idle:
            await self._idle.pop(0)[1].aclose()

    @cached_property
    def _ssl_context(self) -> ssl.SSLContext:
        # Created with the first request: loading the certificates takes a tenth of a second.
        return httpx.create_ssl_context()
