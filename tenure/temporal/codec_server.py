"""Decrypt payloads for the Temporal web UI and the `temporal` command, on this machine only.

Both send payloads to `/decode` and show the reply, so the keys stay in this process. The worker runs the server while
encryption keys are set: on a Unix socket of the home, for the web UI of the local stack, and on a port, for programs
with the home's key and for a web UI on another port. Started as a program it serves a machine without a worker.
"""

import asyncio
import os
import socket
import sys
import threading
from contextlib import ExitStack, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Self

import structlog
from google.protobuf import json_format
from temporalio.api.common.v1 import Payloads

from tenure.private_files import PRIVATE_UMASK, make_private
from tenure.settings import Settings
from tenure.temporal.encryption import DecryptionError, EncryptionCodec
from tenure.temporal.gate.access import HOST, SECURITY_HEADERS, AccessPolicy, build_link, load_key
from tenure.temporal.gate.http_server import HttpError, HttpServer, Request, Response, Timeouts
from tenure.temporal.gate.peers import PeerTable
from tenure.temporal.gate.sockets import CODEC_SOCKET, get_socket_address
from tenure.temporal.gate.web_ui import MAX_CODEC_BYTES

MAX_CONCURRENT_REQUESTS = 4
"""Requests whose payloads are in memory at the same time."""

RETRY_SECONDS = 5.0
"""Time after which a worker tries again to serve a port that another process serves."""

_ROOT = 0


class CodecServer:
    """HTTP server for remote codecs; as a context manager it runs in its own thread.

    Args:
        codec: codec that holds the keys.
        home: home with the key of access and the Unix socket.
        port: port on 127.0.0.1; 0 for any free port.
        ui_port: port of the web UI, the only other origin that may read replies.
        timeouts: time limits of requests.

    Raises:
        OSError: the port is in use, or the home cannot be written.
    """

    def __init__(
        self, codec: EncryptionCodec, home: Path, port: int, ui_port: int, timeouts: Timeouts | None = None
    ) -> None:
        self._codec, self._timeouts = codec, timeouts
        with ExitStack() as opened:
            self._listener = opened.enter_context(socket.create_server((HOST, port)))
            self.port: int = self._listener.getsockname()[1]
            self._key = load_key(home)
            self._own = opened.enter_context(_listen_in_home(home))
            opened.pop_all()
        self._policy = AccessPolicy(self._key, self.port, [f"http://{name}:{ui_port}" for name in (HOST, "localhost")])
        self._peers = PeerTable()
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self.serve()), name="codec-server", daemon=True)
        self._started = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *exit: object) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def build_link(self) -> str:
        """Return a link that lets a browser use this server for a web UI on another port."""
        return build_link(self._key, f"http://{HOST}:{self.port}")

    async def serve(self) -> None:
        """Serve until the context manager is left, or the task is cancelled."""
        self._loop = asyncio.get_running_loop()
        port = HttpServer(self._answer, self._may_connect, self._timeouts)
        own = HttpServer(self._answer_own, None, self._timeouts)
        async with port.serve(self._listener), own.serve(self._own):
            self._started.set()
            await self._stop.wait()

    def _may_connect(self, accepted: socket.socket) -> bool:
        """Return whether a connection comes from this user, or from root, which forwards ports for users."""
        if not self._peers.is_available:
            return True
        try:
            return self._peers.find_user(accepted) in (os.geteuid(), _ROOT)
        except OSError:
            return False

    async def _answer(self, request: Request) -> Response:
        """Answer a request to the port."""
        origin = request.get_header("origin")
        allowed = self._policy.allows_origin(origin)
        if request.method == "OPTIONS" and allowed:
            return Response(HTTPStatus.NO_CONTENT, headers=_list_cors_headers(request, origin))
        try:
            response = self._policy.check(request) or await self._answer_own(request)
        except HttpError as error:
            if not allowed:
                raise
            headers = (("content-type", "text/plain; charset=utf-8"), *_list_cors_headers(request, origin))
            return Response(error.status, f"{error}\n".encode(), headers)
        return (
            Response(response.status, response.body, response.headers + _list_cors_headers(request, origin))
            if (allowed)
            else response
        )

    async def _answer_own(self, request: Request) -> Response:
        """Answer a request of a program that may use this server."""
        changes = {"/decode": self._codec.decode, "/encode": self._codec.encode}
        change = changes.get(request.path)
        if change is None:
            raise HttpError(HTTPStatus.NOT_FOUND, "there are /decode and /encode")
        if request.method != "POST":
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, "payloads are sent with POST")
        async with self._slots:
            body = await request.read(MAX_CODEC_BYTES)
            try:
                given = await asyncio.to_thread(json_format.Parse, body, Payloads())
                made = Payloads(payloads=await change(list(given.payloads)))
            except json_format.ParseError:
                raise HttpError(HTTPStatus.BAD_REQUEST, "the request contains no payloads") from None
            except DecryptionError as error:
                raise HttpError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None
            text = await asyncio.to_thread(json_format.MessageToJson, made)
        kind = ("content-type", "application/json")
        return Response(HTTPStatus.OK, text.encode(), (kind, ("cache-control", "no-store"), *SECURITY_HEADERS))


async def serve_while_needed(settings: Settings) -> None:
    """Serve the configured server until cancelled; while another worker serves the port, wait for its end.

    The worker of an earlier version may hold the port for as long as its runs take.
    """
    is_first = True
    while settings.encryption_keys is not None:
        if (server := make_codec_server(settings, quiet=not is_first)) is not None:
            with server:
                await asyncio.Event().wait()
        is_first = False
        await asyncio.sleep(RETRY_SECONDS)


def make_codec_server(settings: Settings, *, quiet: bool = False) -> CodecServer | None:
    """Return the configured server, or None without keys or if another worker already serves the port."""
    codec = EncryptionCodec.from_settings(settings)
    if codec is None:
        return None
    try:
        return CodecServer(codec, settings.home.absolute(), settings.codec_port, settings.ui_port)
    except OSError as error:
        if not quiet:
            structlog.get_logger().warning(
                "this worker does not decrypt payloads for the web UI", port=settings.codec_port, error=error.strerror
            )
        return None


def main() -> int:
    """Serve until interrupted."""
    os.umask(PRIVATE_UMASK)
    try:
        settings = Settings()
        make_private(settings.home.absolute())
        server = make_codec_server(settings)
    except ValueError as error:
        print(f"error: the settings are not valid: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: the home cannot be used ({error.strerror or error})", file=sys.stderr)
        return 2
    if server is None:
        print("error: set TENURE_ENCRYPTION_KEYS, and TENURE_CODEC_PORT to a free port", file=sys.stderr)
        return 2
    print(f"open this link once in the browser of the web UI: {server.build_link()}", flush=True)
    with suppress(KeyboardInterrupt):
        asyncio.run(server.serve())
    return 0


def _listen_in_home(home: Path) -> socket.socket:
    """Return a socket that listens in the home, in the place of one that an ended worker left.

    Raises:
        OSError: the home cannot be written.
    """
    address = get_socket_address(home, CODEC_SOCKET)
    Path(address).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(address)
        Path(address).chmod(0o600)
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def _list_cors_headers(request: Request, origin: str) -> tuple[tuple[str, str], ...]:
    """Return the headers that let the pages of an origin read the response."""
    return (
        ("access-control-allow-origin", origin),
        ("access-control-allow-credentials", "true"),
        ("access-control-allow-methods", "POST, OPTIONS"),
        # The headers that the web UI sends differ between versions; only the origin is checked.
        ("access-control-allow-headers", request.get_header("access-control-request-headers") or "content-type"),
        ("vary", "origin"),
    )


if __name__ == "__main__":
    sys.exit(main())
