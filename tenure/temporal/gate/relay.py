"""Forward bytes between a connection of a client and the Temporal server.

By hand, because the SDK and the `temporal` command speak HTTP/2, which Uvicorn does not, and nothing here is read.
"""

import asyncio
import socket
from typing import cast

from tenure.temporal.gate.peers import Address


class _End(asyncio.Protocol):
    """One end of a forwarded connection."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: _End | None = None
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        _send_at_once(transport.get_extra_info("socket"))
        if self.other is None or self.other.transport is None:
            self.transport.pause_reading()  # until the other end exists

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()
        self.closed.set_result(None)


def _send_at_once(connection: socket.socket) -> None:
    """Send small messages without waiting for the acknowledgement of earlier ones, which may take 40 ms.

    The event loop does this for its own connections only, not for an accepted one.
    """
    if connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


async def forward(accepted: socket.socket, server: Address) -> None:
    """Forward a connection to the server until one of them closes it; the socket is closed in any case.

    Raises:
        OSError: the server refuses the connection.
    """
    loop = asyncio.get_running_loop()
    outer, inner = _End(), _End()
    try:
        transport, _ = await loop.create_connection(lambda: inner, *server)
    except OSError:
        accepted.close()
        raise
    outer.other, inner.other = inner, outer
    await loop.connect_accepted_socket(lambda: outer, accepted)
    if inner.transport is not None and not inner.transport.is_closing():
        inner.transport.resume_reading()
    await asyncio.wait([outer.closed, inner.closed])
    transport.close()
