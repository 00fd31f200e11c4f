"""Serve applications over HTTP/1.1 with bounds: time of every request and response, and number of connections.

Uvicorn reads and writes the protocol. Its own runner is not used: it takes over the signals of the process, wakes ten
times a second, and offers no time limit of a TLS handshake.
"""

import asyncio
import signal
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import h11
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

MAX_HEADER_BYTES = 32 * 1024
MAX_CONNECTIONS = 128

_STOP_SECONDS = 2.0
"""Time for the responses of requests that are being answered when a server stops."""


@dataclass(frozen=True)
class Timeouts:
    """Time limits of a client in seconds."""

    header: float = 10.0
    """For the line and the headers of a request, counted from the connection or its first byte."""
    body: float = 60.0
    """For the whole body of a request."""
    body_bytes_per_second: int = 0
    """Rate that extends this time by that of the announced length of the body; 0 for no extension."""
    idle: float = 30.0
    """Between two requests."""
    write: float = 60.0
    """For accepting more of the response."""


class _BoundedProtocol(H11Protocol):
    """HTTP/1.1 that closes connections of clients that are too many or too slow.

    Uvicorn bounds only the time between two requests, so half-sent requests would occupy its connections for ever.
    """

    def __init__(self, config: Config, state: ServerState, timeouts: Timeouts) -> None:
        super().__init__(config, state, app_state={})
        self._timeouts = timeouts
        self.timeout_keep_alive = timeouts.idle  # type: ignore[assignment]  # it is passed on to the event loop
        self._part: object = None
        self._deadline: asyncio.TimerHandle | None = None
        self._write_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, and start the time of the first request."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        self._watch_request()

    def data_received(self, data: bytes) -> None:
        """Handle a part of a request; the time counts from its first byte, not from the last one."""
        super().data_received(data)
        self._watch_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the time limits."""
        for timer in (self._deadline, self._write_deadline):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the time of a client that accepts no more of a response."""
        super().pause_writing()
        self._write_deadline = self.loop.call_later(self._timeouts.write, self.transport.abort)

    def resume_writing(self) -> None:
        """Continue a response."""
        if self._write_deadline is not None:
            self._write_deadline.cancel()
        super().resume_writing()

    def _watch_request(self) -> None:
        """Keep the time limit of the head or body that is being received."""
        if (part := self.conn.their_state) is self._part:
            return
        self._part = part
        if self._deadline is not None:
            self._deadline.cancel()
        if part in (h11.IDLE, h11.SEND_BODY):
            seconds = self._timeouts.header if part is h11.IDLE else self._timeouts.body + self._compute_extension()
            self._deadline = self.loop.call_later(seconds, self.transport.close)

    def _compute_extension(self) -> float:
        """Return the further time for a body by its announced length, which h11 has checked."""
        length = next((int(value) for name, value in self.headers if name == b"content-length"), 0)
        rate = self._timeouts.body_bytes_per_second
        return length / rate if rate else 0.0


@asynccontextmanager
async def serve_app(
    app: ASGIApp, *listeners: socket.socket, timeouts: Timeouts | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[None]:
    """Serve an application on listening sockets inside the `with` block, which closes them."""
    config = Config(
        app,
        http=_BoundedProtocol,
        ws="none",
        lifespan="off",
        loop="none",
        interface="asgi3",
        log_config=None,
        log_level="error",
        # Addresses of requests may contain a token.
        access_log=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
    )
    config.load()
    limits, state, loop = timeouts or Timeouts(), ServerState(), asyncio.get_running_loop()
    servers = [
        await loop.create_server(
            lambda: _BoundedProtocol(config, state, limits),
            sock=listener,
            ssl=tls,
            ssl_handshake_timeout=limits.header if tls else None,
        )
        for listener in listeners
    ]
    try:
        yield
    finally:
        for server in servers:
            server.close()
        for has_time in (True, False):
            for connection in list(state.connections):
                if has_time:
                    connection.shutdown()
                else:
                    connection.transport.abort()
            if state.tasks:
                await asyncio.wait(state.tasks, timeout=_STOP_SECONDS)


async def wait_for_stop_signal() -> None:
    """Return when the process is asked to stop."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
