"""The way to the web: connections go to addresses that the guard has judged, and nowhere else.

A name is looked up once for each connection, and the connection is made to the very address that was judged, so
no later answer of a name server can move it. Certificate and `Host` are still those of the name. There is no client
around the transport that could keep a cookie, follow a redirect, or send a password; and no proxy of the environment
is used, which would look names up behind the guard's back.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Final

import httpcore
import httpx

from tenure.sources.fetch.errors import Refused
from tenure.sources.fetch.guard import Guard

_KEPT_OPEN: Final = 30.0
"""Seconds for which a connection is kept that nobody uses."""
_MEANINGS: Final = (
    (httpcore.ConnectTimeout, httpx.ConnectTimeout),
    (httpcore.PoolTimeout, httpx.PoolTimeout),
    (httpcore.TimeoutException, httpx.ReadTimeout),
    (httpcore.ConnectError, httpx.ConnectError),
    (httpcore.NetworkError, httpx.ReadError),
    (httpcore.ProtocolError, httpx.RemoteProtocolError),
)
"""What errors of a connection are to those who use the client, the narrower ones first."""


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to judged addresses."""

    def __init__(self, guard: Guard, inner: httpcore.AsyncNetworkBackend | None = None) -> None:
        """Ask `guard` where a host is, and connect through `inner`."""
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
        """Connect to the first address of a host that answers.

        Raises:
            Refused: it may not be reached.
            NotAnswered: nobody knows it.
            httpcore.ConnectError: no address answers.
            httpcore.ConnectTimeout: none answers in time.
        """
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._guard.addresses(host, port)
        except TimeoutError:
            raise httpcore.ConnectTimeout from None
        *others, last = addresses
        for address in others:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue  # a host with several addresses is there as long as one of them is
        return await self._inner.connect_tcp(last, port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is the interface's
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to no socket of this machine.

        Raises:
            Refused: always.
        """
        raise Refused("sockets of this machine are no part of the web")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._inner.sleep(seconds)


class GuardedTransport(httpx.AsyncBaseTransport):
    """Carries requests over guarded connections, with HTTP/2 where a server speaks it.

    A connection carries one request at a time and is kept for the next one to the same origin. That is all the
    pooling that polite fetching needs; the pool of `httpcore` looks through all connections for each request.
    """

    def __init__(self, guard: Guard, kept: int) -> None:
        """Connect to what the guard lets through, and keep at most so many connections that nobody uses."""
        self._backend, self._most = GuardedBackend(guard), kept
        self._idle: list[tuple[httpcore.Origin, httpcore.AsyncHTTPConnection]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return its response with the body still to come."""
        url = request.url
        asked = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        connection, response = await self._answered(asked)
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response, lambda: self._put_back(asked.url.origin, connection)),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        """Close all connections that are kept."""
        while self._idle:
            await self._idle.pop()[1].aclose()

    async def _answered(self, asked: httpcore.Request) -> tuple[httpcore.AsyncHTTPConnection, httpcore.Response]:
        """Return the answer to a request, and the connection that it comes over."""
        while True:
            connection = await self._taken(asked.url.origin)
            try:
                with _translated():
                    return connection, await connection.handle_async_request(asked)
            except httpcore.ConnectionNotAvailable:
                await connection.aclose()  # it ended just now; a new one is not refused
            except BaseException:
                await connection.aclose()
                raise

    async def _taken(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection:
        """Return a connection to an origin: the one that was used last, or a new one."""
        for place in reversed(range(len(self._idle))):
            if self._idle[place][0] == origin:
                connection = self._idle.pop(place)[1]
                if not connection.has_expired() and connection.is_available():
                    return connection
                await connection.aclose()
                return await self._taken(origin)
        return httpcore.AsyncHTTPConnection(
            origin, self._trust, keepalive_expiry=_KEPT_OPEN, http2=True, network_backend=self._backend
        )

    async def _put_back(self, origin: httpcore.Origin, connection: httpcore.AsyncHTTPConnection) -> None:
        """Keep a connection whose answer has come as a whole; close what can carry no other."""
        if not connection.is_idle() or connection.is_closed():
            await connection.aclose()
            return
        self._idle.append((origin, connection))
        if len(self._idle) > self._most:
            await self._idle.pop(0)[1].aclose()

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        # Made for the first request: reading the certificates of the world takes a tenth of a second.
        return httpx.create_ssl_context()


class _Body(httpx.AsyncByteStream):
    """The body of a response as it comes in."""

    def __init__(self, response: httpcore.Response, done: Callable[[], Awaitable[None]]) -> None:
        self._response, self._done = response, done

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated():
            async for part in self._response.aiter_stream():
                yield part

    async def aclose(self) -> None:
        try:
            await self._response.aclose()
        finally:
            await self._done()


@contextmanager
def _translated() -> Iterator[None]:
    """Translate errors of a connection into those of the client."""
    try:
        yield
    except tuple(ours for ours, _ in _MEANINGS) as error:
        raise next(theirs for ours, theirs in _MEANINGS if isinstance(error, ours))(str(error)) from error
