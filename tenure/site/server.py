"""Serve the page and the API on the loopback interface."""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from tenure.runs.errors import Unreachable
from tenure.runs.messages import ErrorReply
from tenure.runs.service import Service
from tenure.runs.session.server_target import ServerTarget, locate_server
from tenure.settings import Settings
from tenure.site import api, pages
from tenure.site.access import HINT, AccessGate
from tenure.site.openapi import build_description
from tenure.temporal.gate.access import HOST, AccessPolicy, build_link, load_key
from tenure.temporal.gate.http_server import Timeouts
from tenure.temporal.gate.listeners import listen, restrict_users

MAX_BODY_BYTES = 1_000_000
"""Maximum size of a request."""

HEAD_SECONDS = Timeouts().header
"""Time for the line and the headers of a request, counted from the connection or its first byte."""

_MAX_CONNECTIONS = 128
_STOP_SECONDS = 2


class _TimedProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose request line and headers do not arrive in time.

    Uvicorn bounds only the time between two requests, so half-sent heads would occupy its connections for ever.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time of the first request."""
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Handle a part of a request; the time counts from its first byte, not from the last one."""
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the time limit."""
        self._forget_head()
        super().connection_lost(exc)

    def _watch_head(self) -> None:
        """Keep the time limit while a head is incomplete."""
        if self.conn.their_state is not h11.IDLE:
            self._forget_head()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _forget_head(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def build_app(place: ServerTarget, port: int) -> AccessGate:
    """Return the application of the page and the API behind its access control.

    Raises:
        OSError: the key of the home cannot be read.
    """
    policy = AccessPolicy(load_key(place.settings.home), port, hint=HINT)
    service = Service(place)

    async def describe_api(request: Request) -> Response:
        return JSONResponse(build_description(policy.origin))

    app = Starlette(
        routes=[
            Route(f"{api.PREFIX}/openapi.json", describe_api),
            *api.build_routes(service),
            *pages.build_routes(service),
        ],
        exception_handlers={HTTPException: _explain_refusal},
        max_body_size=MAX_BODY_BYTES,
    )
    return AccessGate(app, policy)


def make_link(place: ServerTarget, port: int) -> str:
    """Return the link with a token that lets a browser in."""
    return build_link(load_key(place.settings.home), f"http://{HOST}:{port}/")


def open_listener(port: int) -> socket.socket:
    """Return a socket that listens on a port of the loopback interface for this user.

    Raises:
        Unreachable: another program uses the port.
    """
    try:
        return listen(HOST, port)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise Unreachable(f"port {port} is not available ({os.strerror(error.errno)}): choose one by --port") from error


@asynccontextmanager
async def serve(place: ServerTarget, listener: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """Serve the page and the API inside the `with` block; the task ends when the process is asked to stop."""
    async with run_app(build_app(place, listener.getsockname()[1]), listener) as task:
        yield task


@asynccontextmanager
async def run_app(app: ASGIApp, listener: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """Serve an application inside the `with` block; the task ends when the process is asked to stop."""
    config = uvicorn.Config(
        app,
        # Addresses of requests may contain a token.
        access_log=False,
        log_config=None,
        log_level="warning",
        http=_TimedProtocol,
        ws="none",
        lifespan="off",
        loop="none",
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield task
    finally:
        server.should_exit = True
        await task


async def _explain_refusal(request: Request, error: Exception) -> Response:
    """Return an error of routing as the API or the page words it."""
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    words = HTTPStatus(status).phrase.lower()
    if request.url.path.startswith(api.PREFIX):
        return JSONResponse(ErrorReply(error=words).model_dump(), status)
    return pages.render_error(words, HTTPStatus(status))


def serve_stack_page(listener: socket.socket) -> None:
    """Serve the page of the home of the settings on a socket until the process is asked to stop."""
    asyncio.run(_serve_until_stopped(locate_server(Settings()), restrict_users(listener)))


async def _serve_until_stopped(place: ServerTarget, listener: socket.socket) -> None:
    async with serve(place, listener) as running:
        await running
