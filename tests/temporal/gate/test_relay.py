"""Tests of the forwarding of connections."""

import asyncio
import socket

import pytest

from tenure.temporal.gate.relay import forward


@pytest.fixture
def echo() -> socket.socket:
    """Return a listening socket for the server's side."""
    return socket.create_server(("127.0.0.1", 0))


async def _forwarded(echo: socket.socket, message: bytes) -> tuple[bytes, bool]:
    """Send a message through the relay; return the answer, and whether the accepted end delays small messages."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readexactly(len(message)))[::-1])
        await writer.drain()
        await reader.read()
        writer.close()

    loop = asyncio.get_running_loop()
    async with await asyncio.start_server(answer, sock=echo):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            listener.setblocking(False)
            accepted, _ = await loop.sock_accept(listener)
        accepted.setblocking(False)
        relay = asyncio.create_task(forward(accepted, echo.getsockname()))
        writer.write(message)
        received = await reader.readexactly(len(message))
        delays = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 0
        writer.close()
        await relay
    return received, delays


async def test_bytes_arrive_in_both_directions(echo: socket.socket) -> None:
    """A message reaches the server and its answer the client."""
    assert (await _forwarded(echo, b"question"))[0] == b"noitseuq"


async def test_small_messages_are_not_delayed(echo: socket.socket) -> None:
    """An accepted connection sends small messages immediately: the kernel would delay them by 40 ms."""
    assert not (await _forwarded(echo, b"question"))[1]
