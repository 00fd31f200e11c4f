"""Show the Temporal web UI, and decrypted payloads, to those who may use them: a reverse proxy.

Every request gets a connection of its own to the web UI, so that no response reaches another request.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from pathlib import Path

import h11

from tenure.installation import PROGRAM
from tenure.temporal.gate.access import SECURITY_HEADERS, AccessPolicy
from tenure.temporal.gate.http_server import HttpError, Request, Response
from tenure.temporal.gate.peers import Address
from tenure.temporal.gate.sockets import CODEC_SOCKET, get_socket_address

CODEC_PATH = "/codec"
"""Path of the web UI's origin below which payloads are decrypted."""

MAX_CODEC_BYTES = 64 * 1024 * 1024
"""Maximum size of a request to the codec server: enough for one page of a history."""

_MAX_UI_BYTES = 8 * 1024 * 1024
_RESPONSE_SECONDS = 120.0
_CHUNK_BYTES = 64 * 1024
_MAX_HEADER_BYTES = 256 * 1024

_CONNECTION_HEADERS = {
    *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "expect"),
}
_HIDDEN_REQUEST_HEADERS = {
    *("host", "authorization", "proxy-authorization", "cookie", "origin", "referer", "content-length"),
    *("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"),
}

Headers = Sequence[tuple[str, str]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class WebUi:
    """Handler of requests to the web UI.

    Args:
        policy: rules of access.
        server: address of the web UI.
        home: home whose worker decrypts payloads.
    """

    def __init__(self, policy: AccessPolicy, server: Address, home: Path) -> None:
        self._policy, self._server, self._home = policy, server, home

    async def __call__(self, request: Request) -> Response:
        """Return the response to a request."""
        if (refused := self._policy.check(request)) is not None:
            return refused
        if request.path.startswith(f"{CODEC_PATH}/"):
            return await self._ask_codec_server(request)
        return await self._ask_web_ui(request)

    async def _ask_web_ui(self, request: Request) -> Response:
        body = await request.read(_MAX_UI_BYTES)
        try:
            streams = await asyncio.open_connection(*self._server, limit=_CHUNK_BYTES)
        except OSError:
            raise HttpError(
                HTTPStatus.BAD_GATEWAY, f"the Temporal server does not answer: run `{PROGRAM} status`"
            ) from None
        cookies = self._policy.remove_cookie("; ".join(value for name, value in request.headers if name == "cookie"))
        extra = (("cookie", cookies),) if cookies else ()
        response = await send_request(streams, request, body, f"{self._server[0]}:{self._server[1]}", extra)
        if any(name == "content-type" and value.startswith("text/html") for name, value in response.headers):
            cookie = ("set-cookie", self._policy.make_cookie())
            return Response(response.status, response.body, (*response.headers, cookie))
        return response

    async def _ask_codec_server(self, request: Request) -> Response:
        body = await request.read(MAX_CODEC_BYTES)
        try:
            streams = await asyncio.open_unix_connection(
                get_socket_address(self._home, CODEC_SOCKET), limit=_CHUNK_BYTES
            )
        except OSError:
            raise HttpError(
                HTTPStatus.SERVICE_UNAVAILABLE, f"no worker with encryption keys runs: run `{PROGRAM} up`"
            ) from None
        target = request.target.removeprefix(CODEC_PATH)
        return await send_request(streams, request, body, "codec", (), target)


async def send_request(
    streams: Streams, request: Request, body: bytes, host: str, extra: Headers, target: str | None = None
) -> Response:
    """Send a request to another server; return its response, whose body is read while it is sent on.

    Raises:
        HttpError: the server sends no valid response in time.
    """
    reader, writer = streams
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEADER_BYTES)
    named = {name.strip().lower() for name in request.get_header("connection").split(",")}
    hidden = _CONNECTION_HEADERS | _HIDDEN_REQUEST_HEADERS | named
    kept = [(name, value) for name, value in request.headers if name not in hidden]
    length = [("content-length", str(len(body)))] if body or request.method not in ("GET", "HEAD") else []
    asked = h11.Request(
        method=request.method,
        target=target or request.target,
        headers=[("host", host), ("connection", "close"), *kept, *extra, *length],
    )
    try:
        async with asyncio.timeout(_RESPONSE_SECONDS):
            for event in (asked, h11.Data(data=body), h11.EndOfMessage()):
                writer.write(connection.send(event) or b"")
            await writer.drain()
            while not isinstance(answer := await _receive(connection, reader), h11.Response):
                pass
    except (OSError, TimeoutError, h11.RemoteProtocolError):
        writer.close()
        raise HttpError(HTTPStatus.BAD_GATEWAY, "the Temporal server sends no answer") from None
    except BaseException:
        writer.close()
        raise
    replied = [(name.decode("ascii"), value.decode("latin-1")) for name, value in answer.headers]
    passed = [
        (name, value)
        for name, value in replied
        if name not in _CONNECTION_HEADERS and not name.startswith("access-control-")
    ]
    own = {name for name, _ in SECURITY_HEADERS}
    headers = [*((name, value) for name, value in passed if name not in own), *SECURITY_HEADERS]
    return Response(answer.status_code, _read_body(connection, streams), tuple(headers))


async def _read_body(connection: h11.Connection, streams: Streams) -> AsyncIterator[bytes]:
    """Yield the parts of a response's body, and close the connection afterwards.

    Raises:
        h11.RemoteProtocolError: the body is incomplete.
    """
    try:
        while isinstance(event := await _receive(connection, streams[0]), h11.Data):
            yield bytes(event.data)
    finally:
        streams[1].close()


async def _receive(connection: h11.Connection, reader: asyncio.StreamReader) -> object:
    """Return the next event of a response."""
    while (event := connection.next_event()) is h11.NEED_DATA:
        async with asyncio.timeout(_RESPONSE_SECONDS):
            connection.receive_data(await reader.read(_CHUNK_BYTES))
    return event
