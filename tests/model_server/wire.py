"""The network side of the model server: sockets, bodies, streams, resets, and clients that disconnect."""

import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from tests.support.schema_instance import Json

_POLL_SECONDS = 0.02
"""Interval at which a waiting client's connection is checked."""


class ClientDisconnected(ConnectionError):
    """The client closed its connection before it was answered."""


@dataclass(frozen=True)
class WireReply:
    """Reply of the server; a string body is sent unchanged."""

    status: int
    body: str | Json = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Sequence[str] | None = None
    """Pieces of a stream, instead of a body."""
    cut: bool = False
    """Whether the connection is reset half-way."""
    before_each_piece: Callable[["ClientConnection", int], None] = lambda caller, number: None
    """Callback before each piece; may wait."""
    on_disconnect: Callable[[], None] = lambda: None
    """Callback for a client that disconnected before it had everything."""

    @property
    def pieces(self) -> list[bytes]:
        """Pieces to send, up to the cut."""
        if self.stream is None:
            return [self._whole[: len(self._whole) // 2] if self.cut else self._whole]
        chunks = [b"%x\r\n%b\r\n" % (len(piece.encode()), piece.encode()) for piece in self.stream]
        if self.cut:
            return chunks[: len(chunks) // 2]
        # In one write with the last piece: a client that has read that one may be gone before another.
        return [*chunks[:-1], chunks[-1] + b"0\r\n\r\n"]

    @property
    def framing_headers(self) -> dict[str, str]:
        """Headers that mark the end, so that the client detects a truncated reply."""
        if self.stream is not None:
            return {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        return {"content-type": "application/json", "content-length": str(len(self._whole))}

    @property
    def _whole(self) -> bytes:
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


class ClientConnection:
    """Connection to the client of one request."""

    def __init__(self, handler: "_Handler", closing: threading.Event) -> None:
        self._handler = handler
        self._closing = closing

    def has_left(self) -> bool:
        """Whether the client closed the connection."""
        connection = self._handler.connection
        readable, _, _ = select.select([connection], [], [], 0)
        try:
            return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def check_connected(self) -> None:
        """Raise an error if the client has disconnected.

        Raises:
            ClientDisconnected: it has.
        """
        if self.has_left():
            raise ClientDisconnected

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait for a condition while the client is connected.

        Raises:
            ClientDisconnected: the client disconnected.
        """
        while not until() and not self._closing.is_set():
            self.check_connected()
            self._closing.wait(_POLL_SECONDS)

    def pause(self, seconds: float) -> None:
        """Delay the answer."""
        end = time.monotonic() + seconds
        self.wait(lambda: time.monotonic() >= end)

    def send(self, reply: WireReply) -> None:
        """Send a reply.

        Raises:
            ClientDisconnected: the client disconnected before it had everything.
        """
        try:
            self._handler.begin(reply)
            for number, piece in enumerate(reply.pieces):
                reply.before_each_piece(self, number)
                self.check_connected()
                self._handler.put(piece)
        except OSError as error:
            reply.on_disconnect()
            raise ClientDisconnected from error
        if reply.cut:
            self.reset()

    def hang_up(self) -> None:
        """Close the connection without an answer."""
        self._handler.close_connection = True

    def reset(self) -> None:
        """Reset the connection, like a machine that crashes."""
        self._handler.close_connection = True
        self._handler.broken = True


class RequestHandler(Protocol):
    """Interface of the object that answers requests."""

    closing: threading.Event

    def receive(self, method: str, path: str, headers: Mapping[str, str], body: Json, caller: ClientConnection) -> None:
        """Answer a request.

        Raises:
            ClientDisconnected: the client disconnected before the end of the answer.
        """
        ...


class ModelHttpServer(ThreadingHTTPServer):
    """HTTP server with one thread per connection; port 0 selects a free one."""

    daemon_threads = False  # joined by server_close, so that no test leaves a thread or a socket behind

    def __init__(self, answering: RequestHandler, port: int = 0) -> None:
        self.answering = answering
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="model-server")

    @property
    def base_url(self) -> str:
        """URL for `OPENAI_BASE_URL`."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def start(self) -> None:
        """Serve in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and all connections."""
        self.shutdown()
        self._thread.join()
        self.hang_up()
        self.server_close()

    def hang_up(self) -> None:
        """Close the connections that clients keep open."""
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # its other end was faster
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body leave in one packet
    disable_nagle_algorithm = True
    server: ModelHttpServer
    broken = False
    """Whether the connection ends with a reset."""

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        try:
            super().finish()
        except OSError:  # the client went away, as clients under test do
            self.close_connection = True
        if self.broken:  # closed here, since the server would say goodbye first
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # the same, while reading or writing
            self.close_connection = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        kind = self.headers.get("content-type", "")
        self._answer(_parse_form(kind, body) if kind.startswith("multipart/") else json.loads(body or "{}"))

    def do_GET(self) -> None:
        self._answer({})

    def _answer(self, body: Json) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        answering = self.server.answering
        answering.receive(self.command, self.path, headers, body, ClientConnection(self, answering.closing))

    def begin(self, reply: WireReply) -> None:
        """Write status and headers; they are sent with the first piece."""
        self.send_response(reply.status)
        for name, value in {**reply.framing_headers, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def put(self, piece: bytes) -> None:
        """Send a piece now."""
        self.wfile.write(piece)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


def _parse_form(kind: str, body: bytes) -> Json:
    """Return the fields of a form; a file is a pair of its name and its bytes."""
    form = BytesParser(policy=HTTP).parsebytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + body)
    parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
    return {
        str(name): (part.get_filename(), content) if part.get_filename() else content.decode()
        for name, part in parts.items()
        if isinstance(content := part.get_payload(decode=True), bytes)
    }
