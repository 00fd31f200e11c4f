"""Connect programs of a sandbox to the proxy of the supervisor: a port of the loopback interface leads to its socket.

The sandbox has no other way into a network. The proxy, outside, decides which hosts can be reached.
"""

import asyncio
import contextlib
import os

PORT = 3128
"""Port of the proxy on the loopback interface of the sandbox."""
SOCKET = "/in/network/socket"
_CHUNK_BYTES = 1 << 16


async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy bytes to their end."""
    try:
        while piece := await source.read(_CHUNK_BYTES):
            target.write(piece)
            await target.drain()
        if target.can_write_eof():
            target.write_eof()
    except OSError:
        target.close()


async def handle_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Connect a program to the supervisor."""
    with contextlib.suppress(OSError):
        inner_reader, inner_writer = await asyncio.open_unix_connection(SOCKET)
        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))
        inner_writer.close()
    writer.close()


async def serve(ready: int) -> None:
    """Listen until this process is killed."""
    server = await asyncio.start_server(handle_connection, "127.0.0.1", PORT)
    os.write(ready, b"1")
    os.close(ready)
    await server.serve_forever()


def main(ready: int) -> None:
    """Serve, and write a byte into a pipe when the port is open."""
    asyncio.run(serve(ready))
