"""A TCP proxy whose connections can be reset, stalled, half-closed, slowed down or refused."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_BLOCK = 65_536
_DRIP_SECONDS = 0.05
"""Pause after each part of a slow transfer."""
_HOST = "127.0.0.1"


class _Link:
    """One connection through the proxy."""

    def __init__(self, near: asyncio.StreamWriter, far: asyncio.StreamWriter) -> None:
        self.near, self.far = near, far
        self.flowing = asyncio.Event()
        self.flowing.set()

    def reset(self) -> None:
        """End the connection with a reset in both directions."""
        for writer in (self.near, self.far):
            with suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    def half_close(self) -> None:
        """End the direction to the server; answers still arrive."""
        with suppress(OSError, RuntimeError):
            self.far.write_eof()


class Proxy:
    """Forwarder of connections from a port of its own to a port of the loopback interface.

    Args:
        target: port of the server.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._drip: int | None = None
        self._is_stalled = False
        self.port = 0

    async def listen(self) -> None:
        """Accept connections, again on the same port after `refuse`."""
        self._server = await asyncio.start_server(self._serve, _HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """End the proxy and all connections."""
        self._stop_listening()
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Reset all connections; new ones are accepted."""
        for link in list(self._links):
            link.reset()

    def half_close(self) -> None:
        """End one direction of all connections; new ones are accepted."""
        for link in list(self._links):
            link.half_close()

    @asynccontextmanager
    async def stall(self) -> AsyncIterator[None]:
        """Forward nothing while the block runs; connections stay open, and what is sent arrives afterwards."""
        self._is_stalled = True
        for link in list(self._links):
            link.flowing.clear()
        try:
            yield
        finally:
            self._is_stalled = False
            for link in list(self._links):
                link.flowing.set()

    def lose(self) -> None:
        """Forward nothing on the present connections for ever, as a router that forgets them; new ones work."""
        for link in list(self._links):
            link.flowing.clear()

    @asynccontextmanager
    async def refuse(self) -> AsyncIterator[None]:
        """Reset all connections and refuse new ones while the block runs."""
        self._stop_listening()
        self.cut()
        try:
            yield
        finally:
            await self.listen()

    @asynccontextmanager
    async def drip(self, size: int) -> AsyncIterator[None]:
        """Forward only a few bytes at a time while the block runs."""
        self._drip = size
        try:
            yield
        finally:
            self._drip = None

    def _stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            far_reader, far = await asyncio.open_connection(_HOST, self._target)
        except OSError:  # as without a proxy: there is no server
            writer.transport.abort()
            return
        link = _Link(writer, far)
        if self._is_stalled:
            link.flowing.clear()
        self._links.add(link)
        try:
            await asyncio.gather(self._pump(link, reader, far), self._pump(link, far_reader, writer))
        # Cancelled by `close` only; a half-closed end takes no more bytes, which is a `RuntimeError`.
        except (OSError, RuntimeError, asyncio.CancelledError):
            link.reset()
        finally:
            self._links.discard(link)
            writer.transport.abort()
            far.transport.abort()

    async def _pump(self, link: _Link, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Forward one direction until it ends."""
        while data := await source.read(_BLOCK):
            size = self._drip or len(data)
            for at in range(0, len(data), size):
                await link.flowing.wait()
                sink.write(data[at : at + size])
                await sink.drain()
                if self._drip:
                    await asyncio.sleep(_DRIP_SECONDS)
        await link.flowing.wait()
        if sink.can_write_eof() and not sink.is_closing():
            sink.write_eof()
