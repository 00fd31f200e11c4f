"""The HTTP server of the local services against clients that break the protocol, are slow, or send too much."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from tenure.temporal.gate import http_server
from tenure.temporal.gate.http_server import Timeouts
from tests.temporal.gate.conftest import PATIENT, exchange, serving, status_of

BRIEF = Timeouts(header=0.3, body=0.3, idle=0.3, write=5)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Return method, path and body of a request."""
    body = await Request(scope, receive).body()
    await PlainTextResponse(f"{scope['method']} {scope['path']} ".encode() + body)(scope, receive, send)


async def ignore(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer without reading the body."""
    await PlainTextResponse(f"{scope['path']}\r\n")(scope, receive, send)


async def test_one_connection_serves_several_requests() -> None:
    """Requests of one connection are answered in their order, also if the client does not wait."""
    asked = b"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\none"
    last = b"GET /b HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    async with serving(echo) as port:
        received = await exchange(port, asked + asked, last)
    assert received.count(b"POST /a one") == 2
    assert b"GET /b " in received


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nabcde",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4, 5\r\n\r\nabcde",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: identity, chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost : x\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nhost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not HTTP at all \r\n\r\n",
    ],
)
async def test_ambiguous_requests_are_refused(request_bytes: bytes) -> None:
    """A request that two servers could read in two ways is refused, and its connection is closed."""
    async with serving(echo) as port:
        received = await exchange(port, request_bytes)
    assert received.count(b"HTTP/1.1 ") == 1
    assert 400 <= status_of(received) <= 501


async def test_headers_beyond_the_bound_are_refused() -> None:
    """A header that never ends is cut off at the bound."""
    async with serving(echo) as port:
        received = await exchange(
            port, b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"y" * (http_server.MAX_HEADER_BYTES + 10)
        )
    assert status_of(received) == 400


@pytest.mark.parametrize(
    "parts",
    [
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10000000000\r\n\r\n",),
        (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n", *[b"200\r\n" + b"z" * 512 + b"\r\n"] * 4),
    ],
)
async def test_bodies_beyond_the_bound_are_refused(parts: tuple[bytes, ...]) -> None:
    """Gigabytes are refused by their announcement, and parts without one at the bound."""
    # The rest of the body does not arrive; on a busy machine the parts take longer than a brief limit.
    async with serving(RequestBodyLimitMiddleware(echo, 1000), Timeouts(header=2, body=2, idle=0.3, write=5)) as port:
        received = await exchange(port, *parts)
    assert status_of(received) == 413


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nfour"])
async def test_slow_clients_are_given_up(sent: bytes) -> None:
    """A client that stops in the middle of a request loses its connection after the time limit."""
    async with serving(echo, BRIEF) as port:
        assert await exchange(port, sent) == b""


async def test_slow_answers_have_no_time_limit() -> None:
    """The time for the headers ends with them: a connection that is used again is not closed by its first request."""

    async def answer_slowly(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(2 * BRIEF.header)
        await echo(scope, receive, send)

    asked = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
    async with serving(answer_slowly, BRIEF) as port:
        assert (await exchange(port, asked + asked)).count(b"GET / ") == 2


async def test_clients_that_stop_reading_are_given_up() -> None:
    """A response that the client does not accept loses its connection after the time limit, and its sender ends."""
    ended = asyncio.Event()

    async def flood(scope: Scope, receive: Receive, send: Send) -> None:
        async def parts() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield bytes(1_000_000)
                    await asyncio.sleep(0)
            finally:
                ended.set()

        await StreamingResponse(parts())(scope, receive, send)

    async with serving(flood, Timeouts(write=0.3)) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        async with asyncio.timeout(PATIENT):
            await ended.wait()
        writer.close()


async def test_a_trickle_does_not_extend_the_time() -> None:
    """The time for the headers counts from the first byte, not from the last one."""
    async with serving(echo, BRIEF) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n")
        async with asyncio.timeout(PATIENT):
            while not reader.at_eof():
                try:
                    writer.write(b"x: y\r\n")
                    await asyncio.wait_for(reader.read(1000), 0.05)
                except (TimeoutError, ConnectionResetError, BrokenPipeError):
                    if writer.transport.is_closing():
                        break
        writer.close()


async def test_a_response_without_end_ends_with_its_server(caplog: pytest.LogCaptureFixture) -> None:
    """A stream of events is cut off when the server stops, and its sender is not cancelled with an error."""
    ended: list[bool] = []

    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        async def parts() -> AsyncIterator[bytes]:
            while True:
                yield b"event"
                await asyncio.sleep(0.01)

        await StreamingResponse(parts())(scope, receive, send)
        ended.append(True)

    async with serving(stream) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        await reader.readuntil(b"event")
    writer.close()

    assert ended == [True]
    assert caplog.messages == []


async def test_a_truncated_body_is_refused() -> None:
    """A body that ends before its announced length never reaches the handler."""
    async with serving(echo) as port:
        assert await exchange(port, b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nfour", ends=True) == b""


async def test_an_unread_body_is_no_second_request() -> None:
    """A body that a handler does not read is never parsed as the next request."""
    inner = b"GET /inner HTTP/1.1\r\nhost: x\r\n\r\n"
    head = f"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {len(inner)}\r\n\r\n".encode()
    last = b"GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    async with serving(ignore) as port:
        received = await exchange(port, head, inner + last)
    assert [line for line in received.split(b"\r\n") if line.startswith(b"/")] == [b"/", b"/last"]


async def test_clients_that_wait_for_permission_get_it() -> None:
    """A client that announces a body with `Expect` is asked to send it."""
    async with serving(echo) as port:
        head = b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: 2\r\n\r\n"
        received = await exchange(port, head, b"ok")
    assert received.startswith(b"HTTP/1.1 100")
    assert received.endswith(b"POST / ok")


async def test_connections_beyond_the_bound_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Idle connections do not take more than their number of descriptors."""
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 2)
    async with serving(echo) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for _, writer in held:
            writer.write(b"GET")
            await writer.drain()
        assert await exchange(port, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n") == b""
        for _, writer in held:
            writer.close()
