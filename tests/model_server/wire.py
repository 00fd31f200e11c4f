"""The wire side of the model server: sockets, bodies, streams, resets, and clients that leave."""

import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol

from tests.schema_instance import Json

_LOOK = 0.02
"""Seconds between two looks whether a waiting client is still there."""


class ClientLeft(ConnectionError):
    """The client closed its connection before it was answered."""


@dataclass(frozen=True)
class Reply:
    """What goes back over the wire; a string body is sent as it is."""

    status: int
    body: str | Json = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Sequence[str] | None = None
    """Pieces of a stream, instead of a body."""
    cut: bool = False
    """Whether the connection is reset half-way."""
    before_piece: Callable[["Caller", int], None] = lambda caller, number: None
    """Told before each piece; may hold it back."""
    lost: Callable[[], None] = lambda: None
    """Told when the client left before it had everything."""

    @property
    def framed(self) -> list[bytes]:
        """What is sent one by one, up to where it is cut."""
        if self.stream is None:
            return [self._whole[: len(self._whole) // 2] if self.cut else self._whole]
        chunks = [b"%x\r\n%b\r\n" % (len(piece.encode()), piece.encode()) for piece in self.stream]
        if self.cut:
            return chunks[: len(chunks) // 2]
        # In one write with the last piece: a client that has read that one may be gone before another.
        return [*chunks[:-1], chunks[-1] + b"0\r\n\r\n"]

    @property
    def framing(self) -> dict[str, str]:
        """Headers by which the client knows the end, so that what breaks off cannot pass for what ended."""
        if self.stream is not None:
            return {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        return {"content-type": "application/json", "content-length": str(len(self._whole))}

    @property
    def _whole(self) -> bytes:
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


class Caller:
    """The client of one request, for whoever answers it."""

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

    def stay(self) -> None:
        """Go on only while the client is there.

        Raises:
            ClientLeft: it left.
        """
        if self.has_left():
            raise ClientLeft

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait for something while the client is there.

        Raises:
            ClientLeft: it left.
        """
        while not until() and not self._closing.is_set():
            self.stay()
            self._closing.wait(_LOOK)

    def pause(self, seconds: float) -> None:
        """Let the client wait for a while."""
        end = time.monotonic() + seconds
        self.wait(lambda: time.monotonic() >= end)

    def send(self, reply: Reply) -> None:
        """Send a reply, as far as it goes.

        Raises:
            ClientLeft: before it had everything.
        """
        try:
            self._handler.begin(reply)
            for number, piece in enumerate(reply.framed):
                reply.before_piece(self, number)
                self.stay()
                self._handler.put(piece)
        except OSError as error:
            reply.lost()
            raise ClientLeft from error
        if reply.cut:
            self.reset()

    def hang_up(self) -> None:
        """Close the connection without a word."""
        self._handler.close_connection = True

    def reset(self) -> None:
        """Break the connection off, as a machine that dies does."""
        self._handler.close_connection = True
        self._handler.broken = True


class Answering(Protocol):
    """What the wire asks for answers."""

    closing: threading.Event

    def receive(self, method: str, path: str, headers: Mapping[str, str], body: Json, caller: Caller) -> None:
        """Answer a request.

        Raises:
            ClientLeft: its client did not wait for the end of it.
        """
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
        self._answer(json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or "{}"))

    def do_GET(self) -> None:
        self._answer({})

    def _answer(self, body: Json) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        answering = self.server.answering
        answering.receive(self.command, self.path, headers, body, Caller(self, answering.closing))

    def begin(self, reply: Reply) -> None:
        """Write status and headers; they leave with the first piece."""
        self.send_response(reply.status)
        for name, value in {**reply.framing, **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def put(self, piece: bytes) -> None:
        """Send a piece now."""
        self.wfile.write(piece)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""
