"""Serve the page and the API on the loopback interface."""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tenure.installation import PROGRAM
from tenure.runs.configuration.changes import load_settings
from tenure.runs.errors import Unreachable
from tenure.runs.messages import ErrorReply
from tenure.runs.service import Service
from tenure.runs.session.server_target import ServerTarget, locate_server
from tenure.site import api, pages, rendering
from tenure.site.forms import MAX_BODY_BYTES
from tenure.site.openapi import build_description
from tenure.site.settings_pages import SettingsState
from tenure.temporal.gate.access import SECURITY_HEADERS, AccessGate, AccessPolicy
from tenure.temporal.gate.access_key import HOST, build_link, load_key
from tenure.temporal.gate.http_server import Timeouts, serve_app, wait_for_stop_signal
from tenure.temporal.gate.listeners import listen, restrict_users

MIN_UPLOAD_RATE = 50_000
"""Bytes per second at which an upload may arrive at least, as from a phone with a slow connection."""

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Only this server's own script and style sheet are applied, and forms and requests reach only this server; a page
contains the pictures of its sources."""

HEADERS = (
    *SECURITY_HEADERS,
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
    ("content-security-policy", CONTENT_SECURITY_POLICY),
)
"""Headers of every response."""

_HINT = f"Run `{PROGRAM} serve` as that user and open the link that it prints."


def build_app(server: ServerTarget, port: int) -> AccessGate:
    """Return the application of the page and the API behind its access control.

    Raises:
        OSError: the key of the home cannot be read.
    """
    policy = AccessPolicy(load_key(server.settings.home), port, hint=_HINT)
    return AccessGate(build_site(Service(server), policy.origin), policy, HEADERS)


def build_site(service: Service, origin: str) -> Starlette:
    """Return the page and the API of one owner, without access control."""

    async def describe_api(request: Request) -> Response:
        return JSONResponse(build_description(origin))

    app = Starlette(
        routes=[
            Route(f"{api.PREFIX}/openapi.json", describe_api),
            *api.build_routes(service),
            *pages.build_routes(service),
        ],
        middleware=[Middleware(GZipMiddleware, compresslevel=6)],
        exception_handlers={HTTPException: _explain_refusal},
        max_body_size=MAX_BODY_BYTES,
    )
    app.state.settings = SettingsState()
    return app


def make_link(server: ServerTarget, port: int) -> str:
    """Return the link with a token that lets a browser in."""
    return build_link(load_key(server.settings.home), f"http://{HOST}:{port}/")


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
async def serve(server: ServerTarget, listener: socket.socket) -> AsyncIterator[None]:
    """Serve the page and the API inside the `with` block."""
    timeouts = Timeouts(body_bytes_per_second=MIN_UPLOAD_RATE)
    async with serve_app(build_app(server, listener.getsockname()[1]), listener, timeouts=timeouts):
        yield


async def _explain_refusal(request: Request, error: Exception) -> Response:
    """Return an error of routing as the API or the page words it."""
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    words = HTTPStatus(status).phrase.lower()
    if request.url.path.startswith(api.PREFIX):
        return JSONResponse(ErrorReply(error=words).model_dump(), status)
    return rendering.render_error(words, HTTPStatus(status))


def serve_stack_page(listener: socket.socket) -> None:
    """Serve the page of the home of the settings on a socket until the process is asked to stop."""
    asyncio.run(_serve_until_stopped(locate_server(load_settings()), restrict_users(listener)))


async def _serve_until_stopped(server: ServerTarget, listener: socket.socket) -> None:
    async with serve(server, listener):
        await wait_for_stop_signal()
