"""Pass on the gRPC requests of one connection to the Temporal server that its caller may send.

All methods of the server are unary: a request is read completely, checked, and sent on over a connection of its own
client. A refused request is answered here and leaves the connection open. HTTP clients of libraries drop the trailers
that hold the status of an answer, and a gRPC library would be a further dependency for this purpose alone.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RemoteSettingsChanged,
    RequestReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
    WindowUpdated,
)
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from tenure.temporal.gate.owner_requests import MAX_REQUEST_BYTES, ForeignRequest, check_request, find_namespace
from tenure.temporal.gate.peers import Address

RawHeaders = Sequence[tuple[bytes, bytes]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_MAX_STREAMS: Final = 1000
"""Concurrent requests of a connection: a worker polls each queue with several long requests."""
_CHUNK_BYTES: Final = 64 * 1024
_PERMISSION_DENIED: Final = b"7"
"""Status of gRPC for a refused request."""


@dataclass
class _Message:
    """Message that waits until the other end accepts it."""

    data: bytearray = field(default_factory=bytearray)
    trailers: RawHeaders = ()
    is_complete: bool = False


class _End:
    """One of the two HTTP/2 connections.

    `on_sent` is called with a stream and the number of its bytes that are no longer here, `on_end` with one that ends.

    Args:
        streams: reader and writer of the connection.
        is_client: whether this process sends the requests.
    """

    def __init__(self, streams: Streams, *, is_client: bool) -> None:
        self.reader, self.writer = streams
        self.http = H2Connection(H2Configuration(client_side=is_client, header_encoding=None))
        self.on_sent: Callable[[int, int], None] = lambda stream, size: None
        self.on_end: Callable[[int], object] = lambda stream: None
        self._waiting: dict[int, _Message] = {}

    def open(self, stream: int, headers: RawHeaders, *, ends: bool = False) -> None:
        """Send the headers of a message."""
        self.http.send_headers(stream, headers, end_stream=ends)
        if ends:
            self.on_end(stream)
        else:
            self._waiting[stream] = _Message()

    def send(self, stream: int, data: bytes = b"", trailers: RawHeaders = (), *, ends: bool = False) -> None:
        """Send a part of a message as soon as the other end accepts it."""
        if (message := self._waiting.get(stream)) is not None:
            message.data += data
            message.trailers = trailers or message.trailers
            message.is_complete = message.is_complete or ends
            self._send_accepted(stream, message)

    def send_all(self) -> None:
        """Send what waits, since the other end accepts more."""
        for stream, message in tuple(self._waiting.items()):
            self._send_accepted(stream, message)

    def reset(self, stream: int, code: ErrorCodes | int) -> None:
        """Break off a stream."""
        if (message := self._waiting.pop(stream, None)) is not None:
            self.on_sent(stream, len(message.data))
        self.on_end(stream)
        with suppress(ProtocolError):  # it has ended already
            self.http.reset_stream(stream, code)

    def cancel_unsent(self, stream: int) -> None:
        """Break off a message that was answered before it was sent."""
        if stream in self._waiting:
            self.reset(stream, ErrorCodes.CANCEL)

    def _send_accepted(self, stream: int, message: _Message) -> None:
        while message.data:
            size = min(
                *(len(message.data), self.http.local_flow_control_window(stream), self.http.max_outbound_frame_size)
            )
            if size <= 0:
                return
            self.http.send_data(stream, bytes(message.data[:size]))
            del message.data[:size]
            self.on_sent(stream, size)
        if message.is_complete:
            del self._waiting[stream]
            if message.trailers:
                self.http.send_headers(stream, message.trailers, end_stream=True)
            else:
                self.http.end_stream(stream)
            self.on_end(stream)

    async def flush(self) -> None:
        """Write all bytes that are to be sent."""
        if data := self.http.data_to_send():
            self.writer.write(data)
            await self.writer.drain()


@dataclass
class _Request:
    """Request that is still being received."""

    headers: RawHeaders
    namespace: str
    body: bytearray = field(default_factory=bytearray)


class _Relay:
    """Requests of one client and their answers."""

    def __init__(self, client: Streams, server: Streams, namespaces: Mapping[str, str]) -> None:
        self._client, self._server = _End(client, is_client=False), _End(server, is_client=True)
        # The server may send more of an answer when the client has accepted what is here.
        self._client.on_sent = lambda stream, size: self._server.http.acknowledge_received_data(
            size, self._server_streams[stream]
        )
        self._client.on_end = lambda stream: self._server_streams.pop(stream, None)
        self._namespaces = namespaces
        self._requests: dict[int, _Request] = {}
        self._server_streams: dict[int, int] = {}
        self._client_streams: dict[int, int] = {}

    async def run(self) -> None:
        """Relay until one of the connections ends."""
        tasks: list[asyncio.Task[None]] = []
        try:
            for end in (self._client, self._server):
                end.http.initiate_connection()
                if end is self._client:  # after the first settings, which contain the limit of the library, 100
                    end.http.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: _MAX_STREAMS})
                await end.flush()
            tasks = [
                asyncio.create_task(self._read(self._client, self._receive_request)),
                asyncio.create_task(self._read(self._server, self._receive_answer)),
            ]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            # A connection that breaks, or its protocol, ends both of them and concerns no other client.
            await asyncio.gather(*tasks, return_exceptions=True)
            for end in (self._client, self._server):
                end.writer.close()

    async def _read(self, end: _End, receive: Callable[[Event], None]) -> None:
        """Handle the events of a connection until it ends."""
        while data := await end.reader.read(_CHUNK_BYTES):
            for event in end.http.receive_data(data):
                if isinstance(event, ConnectionTerminated):
                    return
                if isinstance(event, WindowUpdated | RemoteSettingsChanged):
                    end.send_all()
                else:
                    receive(event)
            await self._client.flush()
            await self._server.flush()

    def _receive_request(self, event: Event) -> None:
        """Handle an event of the client."""
        if isinstance(event, RequestReceived):
            self._receive_head(event.stream_id, event.headers)
        elif isinstance(event, DataReceived):
            self._client.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if (request := self._requests.get(event.stream_id)) is not None:
                request.body += event.data
                if len(request.body) > MAX_REQUEST_BYTES:
                    del self._requests[event.stream_id]
                    self._client.reset(event.stream_id, ErrorCodes.ENHANCE_YOUR_CALM)
        elif isinstance(event, StreamEnded):
            if (request := self._requests.pop(event.stream_id, None)) is not None:
                self._pass_on(event.stream_id, request)
        elif isinstance(event, StreamReset):
            self._requests.pop(event.stream_id, None)
            if (stream := self._server_streams.get(event.stream_id)) is not None:
                self._client_streams.pop(stream, None)
                self._client.reset(event.stream_id, event.error_code)
                self._server.reset(stream, event.error_code)

    def _receive_head(self, stream: int, headers: RawHeaders) -> None:
        """Keep the body of a request with the key of an owner; that of another one is discarded."""
        authorization = dict(headers).get(b"authorization", b"").decode("latin-1")
        try:
            self._requests[stream] = _Request(headers, find_namespace(self._namespaces, authorization))
        except ForeignRequest as refusal:
            self._refuse(stream, refusal)

    def _refuse(self, stream: int, refusal: ForeignRequest) -> None:
        status = ((b"grpc-status", _PERMISSION_DENIED), (b"grpc-message", str(refusal).encode("ascii", "replace")))
        self._client.open(stream, ((b":status", b"200"), (b"content-type", b"application/grpc"), *status), ends=True)

    def _pass_on(self, stream: int, request: _Request) -> None:
        """Send a complete request to the server, or answer that it is refused."""
        headers = {name: value.decode("latin-1") for name, value in request.headers}
        try:
            check_request(headers[b":path"], bytes(request.body), headers.get(b"grpc-encoding", ""), request.namespace)
        except ForeignRequest as refusal:
            self._refuse(stream, refusal)
            return
        opened = self._server.http.get_next_available_stream_id()
        self._server_streams[stream], self._client_streams[opened] = opened, stream
        self._server.open(opened, [header for header in request.headers if header[0] != b"authorization"])
        self._server.send(opened, bytes(request.body), ends=True)

    def _receive_answer(self, event: Event) -> None:
        """Handle an event of the server."""
        number: int = getattr(event, "stream_id", 0)
        stream = self._client_streams.get(number)
        if isinstance(event, DataReceived):
            # The data itself is acknowledged when the client has accepted it, its padding now.
            forwarded = 0 if stream is None else len(event.data)
            if event.flow_controlled_length > forwarded:
                self._server.http.acknowledge_received_data(event.flow_controlled_length - forwarded, number)
        if stream is None:
            return  # the client has broken it off
        if isinstance(event, ResponseReceived):
            self._client.open(stream, event.headers, ends=event.stream_ended is not None)
        elif isinstance(event, DataReceived):
            self._client.send(stream, event.data)
        elif isinstance(event, TrailersReceived):
            self._client.send(stream, trailers=event.headers)
        elif isinstance(event, StreamEnded):
            del self._client_streams[number]
            self._client.send(stream, ends=True)
            self._server.cancel_unsent(number)
        elif isinstance(event, StreamReset):
            del self._client_streams[number]
            self._client.reset(stream, event.error_code)


async def relay_requests(accepted: socket.socket, server: Address, namespaces: Mapping[str, str]) -> None:
    """Relay the permitted requests of an accepted connection until it ends; the socket is closed in any case.

    `namespaces` are those of the owners by the hashes of their keys.

    Raises:
        OSError: the server refuses the connection.
    """
    try:
        to_server = await asyncio.open_connection(*server)
    except OSError:
        accepted.close()
        raise
    await _Relay(await asyncio.open_connection(sock=accepted), to_server, namespaces).run()
