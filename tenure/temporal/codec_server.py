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
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple, Self

import structlog
from anyio.from_thread import start_blocking_portal
from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from temporalio.api.common.v1 import Payload, Payloads

from tenure.encryption_keys import parse_encryption_keys
from tenure.private_files import PRIVATE_UMASK, make_private
from tenure.settings import Settings
from tenure.settings.home import CodecSettings
from tenure.temporal.encryption import DecryptionError, EncryptionCodec
from tenure.temporal.gate.access import HINT, AccessGate, AccessPolicy
from tenure.temporal.gate.access_key import HOST, build_link, load_key
from tenure.temporal.gate.http_server import Timeouts, serve_app, wait_for_stop_signal
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
        self._origins = remote.origins if remote else [f"http://{name}:{ui_port}" for name in (HOST, "localhost")]
        hint = f"Run `{LINK_COMMAND}` where it runs and open the link that it prints." if remote else HINT
        self._policy = AccessPolicy(self._key, self.port, self._origins, hint, remote.url if remote else "")
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
        self._thread = ExitStack()

    def __enter__(self) -> Self:
        portal = self._thread.enter_context(start_blocking_portal(name="codec-server"))
        self._thread.enter_context(portal.wrap_async_context_manager(self.serve()))
        return self

    def __exit__(self, *exit: object) -> None:
        self._thread.close()

    def build_link(self) -> str:
        """Return a link that lets a browser use this server for a web UI on another port."""
        return build_link(self._key, self._policy.origin)

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        """Serve inside the `with` block."""
        codec = Starlette(
            routes=[
                Route("/decode", partial(self._answer, change=self._codec.decode), methods=["POST"]),
                Route("/encode", partial(self._answer, change=self._codec.encode), methods=["POST"]),
            ],
            max_body_size=MAX_CODEC_BYTES,
        )
        shared = CORSMiddleware(
            AccessGate(codec, self._policy),
            allow_origins=self._origins,
            allow_methods=["POST"],
            # The headers that the web UI sends differ between versions; only the origin is checked.
            allow_headers=["*"],
            allow_credentials=True,
        )
        app = Starlette(routes=[Route(HEALTH_PATH, _report_health), Mount("", shared)])
        async with (
            serve_app(app, self._listener, timeouts=self._timeouts, tls=self._tls),
            serve_app(codec, self._own, timeouts=self._timeouts),
        ):
            renewal = asyncio.create_task(self._reload_certificate())
            yield
            renewal.cancel()

    async def _reload_certificate(self) -> None:
        """Use a renewed certificate for new connections; keep the old one while the new files are unusable."""
        if self._remote is None or self._tls is None:
            return
        loaded = _read_change_times(self._remote)
        while True:
            await asyncio.sleep(CERTIFICATE_SECONDS)
            try:
                if (current := _read_change_times(self._remote)) != loaded:
                    self._tls.load_cert_chain(self._remote.certificate, self._remote.private_key)
                    loaded = current
            except OSError as error:
                structlog.get_logger().warning("the renewed certificate cannot be used", why=str(error))

    async def _answer(
        self, request: Request, change: Callable[[Sequence[Payload]], Awaitable[list[Payload]]]
    ) -> Response:
        async with self._slots:
            body = await request.body()
            try:
                payloads = await asyncio.to_thread(json_format.Parse, body, Payloads())
                reply = Payloads(payloads=await change(list(payloads.payloads)))
            except json_format.ParseError:
                raise HTTPException(HTTPStatus.BAD_REQUEST, "the request contains no payloads") from None
            except DecryptionError as error:
                raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None
            text = await asyncio.to_thread(json_format.MessageToJson, reply)
        return Response(text, headers={"cache-control": "no-store"}, media_type="application/json")


async def _report_health(request: Request) -> Response:
    return PlainTextResponse("this server runs\n")


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
    asyncio.run(_serve(server))
    return 0


async def _serve(server: CodecServer) -> None:
    """Serve until the process is asked to stop; the first process of a container has to handle that itself."""
    async with server.serve():
        await wait_for_stop_signal()


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


if __name__ == "__main__":
    sys.exit(main())
