"""Servers on free ports, and requests written byte by byte."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.types import ASGIApp

from tenure.temporal.gate.http_server import Timeouts, serve_app

PATIENT = 30.0
"""Seconds that a test waits for an answer."""


@asynccontextmanager
async def serving(app: ASGIApp, timeouts: Timeouts | None = None) -> AsyncIterator[int]:
    """Serve an application and yield its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    async with serve_app(app, listener, timeouts=timeouts):
        yield port


async def exchange(port: int, *parts: bytes, ends: bool = False) -> bytes:
    """Send parts of a request, and return all that is received until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        if ends:
            writer.write_eof()
        async with asyncio.timeout(PATIENT):
            received = b""
            with suppress(ConnectionResetError):
                while piece := await reader.read(65536):
                    received += piece
            return received
    finally:
        writer.close()


def status_of(received: bytes) -> int:
    """Return the status of the first response."""
    return int(received.split(b" ", 2)[1])
