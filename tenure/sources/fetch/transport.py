"""Connect only to addresses that the guard has checked.

A name is resolved once per connection, and the connection uses a checked address, so DNS rebinding has no effect. TLS
certificate and `Host` header are those of the name. The transport is used without an HTTP client, so cookies,
redirects, credentials and proxies of the environment, which would resolve names without the guard, do not exist.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Final

import httpcore
import httpx

from tenure.sources.fetch.address_guard import AddressGuard
from tenure.sources.fetch.errors import RequestRefused

_KEEPALIVE_SECONDS: Final = 30.0
"""Time after which an idle connection is closed."""
_ERROR_TYPES: Final = (
    (httpcore.ConnectTimeout, httpx.ConnectTimeout),
    (httpcore.PoolTimeout, httpx.PoolTimeout),
    (httpcore.TimeoutException, httpx.ReadTimeout),
    (httpcore.ConnectError, httpx.ConnectError),
    (httpcore.NetworkError, httpx.ReadError),
    (httpcore.ProtocolError, httpx.RemoteProtocolError),
)
"""Exception types of httpx for those of httpcore, narrower types first."""


class GuardedNetworkBackend(httpcore.AsyncNetworkBackend):
    """Network backend that connects to checked addresses."""

    def __init__(self, guard: AddressGuard, inner: httpcore.AsyncNetworkBackend | None = None) -> None:
        """Resolve hosts with `guard`, and connect through `inner`."""
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
        """Connect to the first address of a host that accepts a connection.

        Raises:
            RequestRefused: the host is forbidden.
            NoResponse: the name does not exist.
            httpcore.ConnectError: no address accepts a connection.
            httpcore.ConnectTimeout: no address accepts a connection in time.
        """
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
        """Refuse to connect to a Unix socket.

        Raises:
            RequestRefused: always.
        """
        raise RequestRefused("Unix sockets are not part of the web")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._inner.sleep(seconds)


class GuardedTransport(httpx.AsyncBaseTransport):
    """HTTP transport over guarded connections, with HTTP/2 where the server supports it.

    A connection carries one request at a time and is reused for the next one to the same origin. Rate-limited fetching
    needs no more pooling; the pool of `httpcore` searches all connections for each request.
    """

    def __init__(self, guard: AddressGuard, kept: int) -> None:
        """Connect through `guard`, and keep at most `kept` idle connections."""
        self._backend, self._max_idle = GuardedNetworkBackend(guard), kept
        self._idle: list[tuple[httpcore.Origin, httpcore.AsyncHTTPConnection]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return its response with a streaming body."""
        url = request.url
        core_request = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        connection, response = await self._send(core_request)
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_ResponseStream(response, lambda: self._release(core_request.url.origin, connection)),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all idle connections."""
        while self._idle:
            await self._idle.pop()[1].aclose()

    async def _send(self, core_request: httpcore.Request) -> tuple[httpcore.AsyncHTTPConnection, httpcore.Response]:
        """Send a request, and return its response and connection."""
        while True:
            connection = await self._get_connection(core_request.url.origin)
            try:
                with _translate_errors():
                    return connection, await connection.handle_async_request(core_request)
            except httpcore.ConnectionNotAvailable:
                await connection.aclose()  # it ended just now; a new one is not refused
            except BaseException:
                await connection.aclose()
                raise

    async def _get_connection(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection:
        """Return the most recently used idle connection to an origin, or a new one."""
        for place in reversed(range(len(self._idle))):
            if self._idle[place][0] == origin:
                connection = self._idle.pop(place)[1]
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


class _ResponseStream(httpx.AsyncByteStream):
    """Streaming body of a response."""

    def __init__(self, response: httpcore.Response, done: Callable[[], Awaitable[None]]) -> None:
        self._response, self._done = response, done

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translate_errors():
            async for part in self._response.aiter_stream():
                yield part

    async def aclose(self) -> None:
        try:
            await self._response.aclose()
        finally:
            await self._done()


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate errors of httpcore into those of httpx."""
    try:
        yield
    except tuple(ours for ours, _ in _ERROR_TYPES) as error:
        raise next(theirs for ours, theirs in _ERROR_TYPES if isinstance(error, ours))(str(error)) from error
