"""Decrypt payloads for the Temporal web UI and the `temporal` command.

Both send payloads to `/decode` and show the reply, so the keys stay in this process. The worker runs the server while
encryption keys are set: on a Unix socket of the home, for the web UI of the local stack, and on a port, for programs
with the home's key and for a web UI on another port. Started as a program it serves a machine without a worker, and
with the settings for other machines a web UI that runs elsewhere.

Usage: python -m tenure.temporal.codec_server
       python -m tenure.temporal.codec_server --link
"""

import argparse
import asyncio
import os
import signal
import ssl
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple, Self

import structlog
from google.protobuf import json_format
from temporalio.api.common.v1 import Payloads

from tenure.encryption_keys import parse_encryption_keys
from tenure.private_files import PRIVATE_UMASK, make_private
from tenure.settings import Settings
from tenure.settings.home import CodecSettings
from tenure.temporal.encryption import DecryptionError, EncryptionCodec
from tenure.temporal.gate.access import HINT, HOST, SECURITY_HEADERS, AccessPolicy, build_link, load_key
from tenure.temporal.gate.http_server import (
    HttpError,
    HttpServer,
    Request,
    Response,
    Timeouts,
    make_text_response,
)
from tenure.temporal.gate.listeners import listen, listen_in_home
from tenure.temporal.gate.sockets import CODEC_SOCKET
from tenure.temporal.gate.web_ui import MAX_CODEC_BYTES

MAX_CONCURRENT_REQUESTS = 4
"""Requests whose payloads are in memory at the same time."""

RETRY_SECONDS = 5.0
"""Time after which a worker tries again to serve a port that another process serves."""

CERTIFICATE_SECONDS = 60.0
"""Interval at which a renewed certificate is looked for."""

HEALTH_PATH = "/healthz"
"""Path that needs no token and shows nothing but that the server runs."""

LINK_COMMAND = "python -m tenure.temporal.codec_server --link"


class RemoteAccess(NamedTuple):
    """Access of browsers and programs on other machines."""

    host: str
    """Address to listen on."""
    url: str
    """URL under which they reach the server."""
    origins: tuple[str, ...]
    """Origins of the web UIs that may read replies."""
    certificate: Path
    """File with the certificate."""
    private_key: Path
    """File with its private key."""
    token: str
    """Token in place of the home's key."""

    @classmethod
    def from_settings(cls, settings: CodecSettings) -> "RemoteAccess | None":
        """Return the access that the settings define, or None for this machine only."""
        certificate, private_key, token = settings.codec_certificate, settings.codec_private_key, settings.codec_token
        if not (settings.codec_url and certificate and private_key and token):
            return None
        return cls(
            settings.codec_host,
            settings.codec_url,
            settings.codec_origins,
            certificate,
            private_key,
            token.get_secret_value(),
        )


class CodecServer:
    """HTTP server for remote codecs; as a context manager it runs in its own thread.

    Args:
        codec: codec that holds the keys.
        home: home with the key of access and the Unix socket.
        port: port; 0 for any free port.
        ui_port: port of the web UI of this machine, the only other origin that may read replies.
        timeouts: time limits of requests.
        remote: access from other machines, which then replaces that of this machine; None for none.

    Raises:
        OSError: the port is in use, or the home or the certificate cannot be used.
    """

    def __init__(
        self,
        codec: EncryptionCodec,
        home: Path,
        port: int,
        ui_port: int,
        timeouts: Timeouts | None = None,
        remote: RemoteAccess | None = None,
    ) -> None:
        self._codec, self._timeouts, self._remote = codec, timeouts, remote
        self._tls = _load_certificate(remote) if remote else None
        with ExitStack() as opened:
            self._listener = opened.enter_context(listen(remote.host if remote else HOST, port))
            self.port: int = self._listener.getsockname()[1]
            self._key = remote.token if remote else load_key(home)
            self._own = opened.enter_context(listen_in_home(home, CODEC_SOCKET))
            opened.pop_all()
        origins = remote.origins if remote else [f"http://{name}:{ui_port}" for name in (HOST, "localhost")]
        hint = f"Run `{LINK_COMMAND}` where it runs and open the link that it prints." if remote else HINT
        self._policy = AccessPolicy(self._key, self.port, origins, hint, remote.url if remote else "")
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
        return build_link(self._key, self._policy.origin)

    async def serve(self) -> None:
        """Serve until the context manager is left, or the task is cancelled."""
        self._loop = asyncio.get_running_loop()
        port = HttpServer(self._answer, self._timeouts, self._tls)
        own = HttpServer(self._answer_own, self._timeouts)
        async with port.serve(self._listener), own.serve(self._own):
            self._started.set()
            renewal = asyncio.create_task(self._reload_certificate())
            await self._stop.wait()
            renewal.cancel()

    async def _reload_certificate(self) -> None:
        """Use a renewed certificate for new connections; keep the old one while the new files are unusable."""
        if self._remote is None or self._tls is None:
            return
        known = _read_change_times(self._remote)
        while True:
            await asyncio.sleep(CERTIFICATE_SECONDS)
            try:
                if (found := _read_change_times(self._remote)) != known:
                    self._tls.load_cert_chain(self._remote.certificate, self._remote.private_key)
                    known = found
            except OSError as error:
                structlog.get_logger().warning("the renewed certificate cannot be used", why=str(error))

    async def _answer(self, request: Request) -> Response:
        """Answer a request to the port."""
        if request.method == "GET" and request.path == HEALTH_PATH:
            return make_text_response(HTTPStatus.OK, "this server runs")
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


async def serve_while_needed(settings: CodecSettings) -> None:
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


def make_codec_server(settings: CodecSettings, *, quiet: bool = False) -> CodecServer | None:
    """Return the configured server, or None without keys or if it cannot serve, for which the log has the reason."""
    if settings.encryption_keys is None:
        return None
    # It shows plain payloads as they are, and none of owners with names.
    codec = EncryptionCodec(parse_encryption_keys(settings.encryption_keys.get_secret_value()))
    remote = RemoteAccess.from_settings(settings)
    try:
        return CodecServer(codec, settings.home.absolute(), settings.codec_port, settings.ui_port, remote=remote)
    except OSError as error:
        if not quiet:
            structlog.get_logger().warning(
                "this worker does not decrypt payloads for the web UI",
                port=settings.codec_port,
                error=error.strerror or str(error),
            )
        return None


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tenure.temporal.codec_server", description=__doc__)
    parser.add_argument("--link", action="store_true", help="print a link for the browser, and do not serve")
    chosen = parser.parse_args(argv)
    os.umask(PRIVATE_UMASK)
    try:
        settings = Settings()
        make_private(settings.home.absolute())
        if chosen.link:
            print(_build_link(settings))
            return 0
        server = make_codec_server(settings)
    except ValueError as error:
        print(f"error: the settings are not valid: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: the home cannot be used ({error.strerror or error})", file=sys.stderr)
        return 2
    if server is None:
        print(
            "error: set TENURE_ENCRYPTION_KEYS, and TENURE_CODEC_PORT to a free port; check the files of a certificate",
            file=sys.stderr,
        )
        return 2
    if settings.codec_url:
        # The output of a server for other machines is a log, which is no place for a link that opens it.
        print(f"serving {settings.codec_url}; `{LINK_COMMAND}` prints a link for the browser", flush=True)
    else:
        print(f"open this link once in the browser of the web UI: {server.build_link()}", flush=True)
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(server))
    return 0


async def _serve(server: CodecServer) -> None:
    """Serve until the process is asked to stop; the first process of a container has to handle that itself."""
    serving = asyncio.create_task(server.serve())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving


def _build_link(settings: CodecSettings) -> str:
    """Return a link that lets a browser use the server of these settings.

    Raises:
        OSError: the key of the home cannot be read.
    """
    remote = RemoteAccess.from_settings(settings)
    if remote is not None:
        return build_link(remote.token, remote.url)
    return build_link(load_key(settings.home.absolute()), f"http://{HOST}:{settings.codec_port}")


def _load_certificate(remote: RemoteAccess) -> ssl.SSLContext:
    """Return the encryption of connections.

    Raises:
        OSError: a file cannot be read, or the certificate and the private key do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Without a function for the passphrase, an encrypted key would wait for one at the terminal.
    context.load_cert_chain(remote.certificate, remote.private_key, password=lambda: "")
    return context


def _read_change_times(remote: RemoteAccess) -> tuple[float, float]:
    """Return when the files of the certificate were changed.

    Raises:
        OSError: a file does not exist.
    """
    return remote.certificate.stat().st_mtime, remote.private_key.stat().st_mtime


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
