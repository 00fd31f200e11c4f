"""The wire side of the model server: sockets, bodies, streams, resets, and clients that leave."""

import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from tests.schema_instance import Json

_LOOK = 0.02
"""Seconds between two looks whether a waiting client is still there."""


class ClientLeft(Exception):
    """The client closed its connection before it was answered."""


@dataclass(frozen=True)
class Reply:
    """What goes back over the wire; a string body is sent as it is."""

    status: int
    body: str | Json = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[Json] | None = None
    """Server-sent events instead of a body."""
    cut: bool = False
    """Whether the connection is reset half-way."""
    before_event: Callable[[int], None] = lambda number: None
    """Told before each event; may hold it back."""

    @property
    def payload(self) -> bytes:
        """The body in bytes."""
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


class Caller:
    """The client of one request, for whoever lets it wait."""

    def __init__(self, connection: socket.socket, closing: threading.Event) -> None:
        self._connection = connection
        self._closing = closing

    def has_left(self) -> bool:
        """Whether the client closed the connection."""
        readable, _, _ = select.select([self._connection], [], [], 0)
        try:
            return bool(readable) and self._connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait for something while the client is there.

        Raises:
            ClientLeft: it left.
        """
        while not until() and not self._closing.is_set():
            if self.has_left():
                raise ClientLeft
            self._closing.wait(_LOOK)

    def pause(self, seconds: float) -> None:
        """Let the client wait for a while."""
        end = time.monotonic() + seconds
        self.wait(lambda: time.monotonic() >= end)


class Answering(Protocol):
    """What the wire asks for answers."""

    closing: threading.Event

    def receive(self, method: str, path: str, headers: Mapping[str, str], body: Json, caller: Caller) -> Reply | None:
        """Answer a request; None means to close the connection without a word."""
        ...

    def failed(self, error: Exception) -> Reply:
        """Answer a request whose script made a mistake."""
        ...


class Http(ThreadingHTTPServer):
    """A thread a connection."""

    daemon_threads = False  # joined by server_close, so that no test leaves a thread or a socket behind

    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        self.connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def hang_up(self) -> None:
        """End the connections that clients keep open."""
        for connection in list(self.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:  # its other end was faster
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body leave in one packet
    disable_nagle_algorithm = True
    server: Http

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        try:
            super().finish()
        except OSError:  # the client went away, as clients under test do
            self.close_connection = True

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # the same, while reading or writing
            self.close_connection = True

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or "{}"))

    def do_GET(self) -> None:
        self._answer({})

    def _answer(self, body: Json) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        answering = self.server.answering
        caller = Caller(self.connection, answering.closing)
        try:
            reply = answering.receive(self.command, self.path, headers, body, caller)
            if reply is None:
                self.close_connection = True
            else:
                self._send(reply)
        except ClientLeft:
            self.close_connection = True
        except OSError:
            raise
        except Exception as error:  # a script's mistake must show in the test that wrote it
            self._send(answering.failed(error))

    def _send(self, reply: Reply) -> None:
        pieces = list(_pieces(reply))
        kind = "application/json" if reply.events is None else "text/event-stream"
        chunked = reply.events is not None  # so that a stream that breaks off cannot pass for one that ended
        length = {"transfer-encoding": "chunked"} if chunked else {"content-length": str(sum(map(len, pieces)))}
        self.send_response(reply.status)
        for name, value in {"content-type": kind, **reply.headers, **length}.items():
            self.send_header(name, value)
        self.end_headers()
        for number, piece in enumerate(pieces[: len(pieces) // 2] if reply.cut and len(pieces) > 1 else pieces):
            reply.before_event(number)
            sent = piece[: len(piece) // 2] if reply.cut and len(pieces) == 1 else piece
            self.wfile.write(b"%x\r\n%b\r\n" % (len(sent), sent) if chunked else sent)
            self.wfile.flush()
        if chunked and not reply.cut:
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()
        if reply.cut:
            self.close_connection = True
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


def _pieces(reply: Reply) -> Iterator[bytes]:
    if reply.events is None:
        yield reply.payload
        return
    for event in reply.events:
        yield f"data: {json.dumps(event)}\n\n".encode()
    yield b"data: [DONE]\n\n"
