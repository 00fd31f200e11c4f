"""Decrypt payloads for the Temporal web UI and the `temporal` command, on the loopback interface only.

Both send payloads to `/decode` and show the reply, so the keys stay in this process. The worker runs the server
while encryption keys are set; started as a program it serves a web UI on a machine without a worker.
"""

import asyncio
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import urlsplit

import structlog
from google.protobuf import json_format
from temporalio.api.common.v1 import Payloads

from tenure.settings import Settings
from tenure.temporal.encryption import DecryptionError, EncryptionCodec

MAX_REQUEST_BYTES = 64 * 1024 * 1024
"""Maximum size of a request in bytes, enough for one page of a history."""


class CodecServer(ThreadingHTTPServer):
    """HTTP server for remote codecs; as a context manager it runs in its own threads.

    Args:
        codec: codec that holds the keys.
        port: port on 127.0.0.1; 0 for any free port.
        ui_port: port of the web UI, the only origin that may read replies.

    Raises:
        OSError: the port is in use.
    """

    daemon_threads = True

    def __init__(self, codec: EncryptionCodec, port: int, ui_port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.codec = codec
        self.origins = {f"http://{host}:{ui_port}" for host in ("127.0.0.1", "localhost")}

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.2,), name="codec-server", daemon=True).start()
        return self

    def __exit__(self, *exit: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CodecServer

    def do_OPTIONS(self) -> None:
        """Answer a CORS preflight request."""
        self._answer(HTTPStatus.NO_CONTENT, b"")

    def do_POST(self) -> None:
        """Encode or decode the payloads of the request."""
        length = int(self.headers.get("content-length") or 0)
        if self.headers.get("origin") and self.headers["origin"] not in self.server.origins:
            self._refuse(HTTPStatus.FORBIDDEN, "only the web UI of this home may use this server")
        elif length > MAX_REQUEST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large")
        else:
            self._changed(self.rfile.read(length))

    def _changed(self, body: bytes) -> None:
        offered = {"/decode": self.server.codec.decode, "/encode": self.server.codec.encode}
        change = offered.get(urlsplit(self.path).path)
        if change is None:
            self._refuse(HTTPStatus.NOT_FOUND, "there are /decode and /encode")
            return
        try:
            given = json_format.Parse(body, Payloads())
            made = Payloads(payloads=asyncio.run(change(list(given.payloads))))
        except json_format.ParseError:
            self._refuse(HTTPStatus.BAD_REQUEST, "the request contains no payloads")
        except DecryptionError as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        else:
            self._answer(HTTPStatus.OK, json_format.MessageToJson(made).encode())

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        # An unread body would be parsed as the next request on this connection. Announce the close, or the client sends
        # its
        # next request on a connection that is being closed.
        self._answer(status, why.encode(), "text/plain; charset=utf-8", last=True)

    def _answer(self, status: HTTPStatus, body: bytes, kind: str = "application/json", last: bool = False) -> None:
        self.send_response(status)
        if last:
            self.send_header("connection", "close")
        origin = self.headers.get("origin")
        if origin in self.server.origins:
            self.send_header("access-control-allow-origin", origin)
            self.send_header("access-control-allow-methods", "POST, OPTIONS")
            # The headers and parameters that the web UI sends differ between versions; only the origin is checked.
            self.send_header("access-control-allow-headers", self.headers.get("access-control-request-headers", "*"))
            self.send_header("vary", "origin")
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write no log: requests contain user data."""


def make_codec_server(settings: Settings) -> CodecServer | None:
    """Return the configured server, or None without keys or if another worker already serves the port."""
    codec = EncryptionCodec.from_settings(settings)
    if codec is None:
        return None
    try:
        return CodecServer(codec, settings.codec_port, settings.ui_port)
    except OSError as error:
        structlog.get_logger().warning(
            "this worker does not decrypt payloads for the web UI", port=settings.codec_port, error=error.strerror
        )
        return None


def main() -> int:
    """Serve until interrupted."""
    try:
        server = make_codec_server(Settings())
    except ValueError as error:
        print(f"error: the settings are not valid: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    if server is None:
        print("error: set TENURE_ENCRYPTION_KEYS, and TENURE_CODEC_PORT to a free port", file=sys.stderr)
        return 2
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
