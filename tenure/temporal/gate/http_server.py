"""Serve HTTP/1.1 on this machine with bounds: size and time of every request, and number of connections.

The parser is h11, which refuses ambiguous requests. A request is never copied from one connection to another: its
method, path, headers and body are read, checked and written again.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit

import h11

MAX_HEADER_BYTES = 32 * 1024
MAX_CONNECTIONS = 128

_CHUNK_BYTES = 64 * 1024
_MAX_LINGER_BYTES = 4 * 1024 * 1024
_LINGER_SECONDS = 2.0


@dataclass(frozen=True)
class Timeouts:
    """Time limits of a client in seconds."""

    header: float = 10.0
    """For the line and the headers of a request, counted from the connection or its first byte."""
    body: float = 60.0
    """For the whole body of a request."""
    idle: float = 30.0
    """Between two requests."""
    write: float = 60.0
    """For accepting a part of the response."""


class HttpError(Exception):
    """The request gets an error as response; the message is one line of text.

    Attributes:
        status: status of the response.
    """

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Response:
    """Response to a request."""

    status: int
    body: bytes | AsyncIterator[bytes] = b""
    headers: tuple[tuple[str, str], ...] = ()


class RequestHead:
    """Line and headers of a request.

    Attributes:
        method: method.
        target: path and query, always with a leading slash.
        headers: names in lower case, and values.
    """

    def __init__(self, method: str, target: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.method, self.target = method, target
        self.headers = tuple((name.decode("ascii"), value.decode("latin-1")) for name, value in headers)
        if not self.target.startswith("/") or self.target.startswith("//") or "\\" in self.target:
            raise HttpError(HTTPStatus.BAD_REQUEST, "the address of the request must be a path")
        if self.get_header("content-length") and self.get_header("transfer-encoding"):
            raise HttpError(HTTPStatus.BAD_REQUEST, "the request has two lengths")

    @property
    def path(self) -> str:
        """Path without the query."""
        return urlsplit(self.target).path

    def get_header(self, name: str) -> str:
        """Return the value of a header, empty if it is absent.

        Raises:
            HttpError: the header occurs more than once.
        """
        values = [value for key, value in self.headers if key == name]
        if len(values) > 1:
            raise HttpError(HTTPStatus.BAD_REQUEST, f"the header {name} occurs more than once")
        return values[0] if values else ""


class Request(RequestHead):
    """A request whose body has not been read yet."""

    def __init__(self, conversation: "_Conversation", event: h11.Request) -> None:
        super().__init__(event.method.decode("ascii"), event.target.decode("ascii"), event.headers)
        self._conversation = conversation

    async def read(self, max_bytes: int) -> bytes:
        """Read the body.

        Raises:
            HttpError: it is too large, incomplete, or takes too long.
        """
        announced = self.get_header("content-length")
        if announced and int(announced) > max_bytes:
            raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large")
        return await self._conversation.read_body(max_bytes)


Handler = Callable[[Request], Awaitable[Response]]


class HttpServer:
    """Server for one handler, on any number of listening sockets.

    Args:
        handler: returns the response to a request, or raises `HttpError`.
        timeouts: time limits.
        tls: encryption of connections over the network; None for none.
    """

    def __init__(
        self,
        handler: Handler,
        timeouts: Timeouts | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._handler, self._timeouts, self._tls = handler, timeouts or Timeouts(), tls
        self._connections = 0

    @asynccontextmanager
    async def serve(self, *listeners: socket.socket) -> AsyncIterator[None]:
        """Serve the sockets inside the `with` block."""
        async with AsyncExitStack() as running:
            for listener in listeners:
                if listener.family == socket.AF_UNIX:
                    server = await asyncio.start_unix_server(self._converse, sock=listener, limit=_CHUNK_BYTES)
                else:
                    server = await asyncio.start_server(
                        self._converse,
                        sock=listener,
                        limit=_CHUNK_BYTES,
                        ssl=self._tls,
                        ssl_handshake_timeout=self._timeouts.header if self._tls else None,
                    )
                running.callback(server.close)
            yield

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._connections >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._connections += 1
        try:
            await _Conversation(reader, writer, self._timeouts).run(self._handler)
        except (OSError, TimeoutError, h11.RemoteProtocolError, asyncio.IncompleteReadError):
            writer.transport.abort()  # the client has gone, stopped reading, or sends no HTTP
        finally:
            self._connections -= 1
            writer.close()


class _Conversation:
    """Requests and responses of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeouts: Timeouts) -> None:
        self._reader, self._writer, self._timeouts = reader, writer, timeouts
        self._connection = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEADER_BYTES)

    async def run(self, handler: Handler) -> None:
        """Answer requests until the connection is closed."""
        while await self._answer_next(handler):
            self._connection.start_next_cycle()
            if not self._connection.trailing_data[0]:
                async with asyncio.timeout(self._timeouts.idle):
                    self._connection.receive_data(await self._reader.read(_CHUNK_BYTES))

    async def read_body(self, max_bytes: int) -> bytes:
        """Read the body of the current request."""
        body = bytearray()
        try:
            async with asyncio.timeout(self._timeouts.body):
                if self._connection.they_are_waiting_for_100_continue:
                    await self._send(h11.InformationalResponse(status_code=100, headers=[]))
                while isinstance(event := await self._receive(), h11.Data):
                    body += event.data
                    if len(body) > max_bytes:
                        raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large")
        except TimeoutError:
            raise HttpError(HTTPStatus.REQUEST_TIMEOUT, "the body of the request takes too long") from None
        except h11.RemoteProtocolError:
            raise HttpError(HTTPStatus.BAD_REQUEST, "the body of the request is incomplete") from None
        return bytes(body)

    async def _answer_next(self, handler: Handler) -> bool:
        """Answer one request; return whether the connection can be used for another one."""
        try:
            async with asyncio.timeout(self._timeouts.header):
                event = await self._receive()
            if not isinstance(event, h11.Request):
                return False
            response = await handler(Request(self, event))
            if self._connection.their_state is h11.SEND_BODY and not _announces_body(event):
                await self._receive()  # the end of a request without a body
        except HttpError as error:
            response = make_text_response(error.status, str(error))
        except TimeoutError:
            response = make_text_response(HTTPStatus.REQUEST_TIMEOUT, "the request takes too long")
        except h11.RemoteProtocolError as error:
            response = make_text_response(HTTPStatus(error.error_status_hint), "the request is not valid HTTP")
        await self._respond(response)
        return self._connection.our_state is h11.DONE and self._connection.their_state is h11.DONE

    async def _respond(self, response: Response) -> None:
        """Send a response; an unread request is discarded, and its connection closed."""
        unread = self._connection.their_state is not h11.DONE
        headers = list(response.headers)
        if isinstance(response.body, bytes) and response.status != HTTPStatus.NO_CONTENT:
            headers.append(("content-length", str(len(response.body))))
        if unread:
            headers.append(("connection", "close"))
        await self._send(
            h11.Response(status_code=response.status, headers=headers, reason=HTTPStatus(response.status).phrase)
        )
        if isinstance(response.body, bytes):
            await self._send(h11.Data(data=response.body))
        else:
            async for part in response.body:
                await self._send(h11.Data(data=part))
        await self._send(h11.EndOfMessage())
        if unread:
            await self._linger()

    async def _linger(self) -> None:
        """Read the rest of a refused request, so that the system does not discard the response with it."""
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_LINGER_SECONDS):
                if self._writer.can_write_eof():
                    self._writer.write_eof()
                for _ in range(_MAX_LINGER_BYTES // _CHUNK_BYTES):
                    if not await self._reader.read(_CHUNK_BYTES):
                        return

    async def _receive(self) -> object:
        """Return the next event of the request.

        Raises:
            h11.RemoteProtocolError: the client sends no valid HTTP, or ends within a request.
        """
        while (event := self._connection.next_event()) is h11.NEED_DATA:
            self._connection.receive_data(await self._reader.read(_CHUNK_BYTES))
        return event

    async def _send(self, event: h11.Event) -> None:
        if isinstance(event, h11.Data) and not event.data:
            return
        data = self._connection.send(event)
        if data:
            self._writer.write(data)
            async with asyncio.timeout(self._timeouts.write):
                await self._writer.drain()


def make_text_response(status: HTTPStatus, text: str, headers: Sequence[tuple[str, str]] = ()) -> Response:
    """Return a response of one line of text."""
    kind = ("content-type", "text/plain; charset=utf-8")
    return Response(status, f"{text}\n".encode(), (kind, ("cache-control", "no-store"), *headers))


def _announces_body(event: h11.Request) -> bool:
    """Return whether a request announces a body."""
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in event.headers)
