"""Proxy through which the setup of a project reaches package indexes, and nothing on this machine or its network.

A setup runs code of strangers. In the network of the host it would reach the Temporal server, the services of other
programs and the metadata of a cloud. So it has a network of its own with nothing in it but a relay to this proxy, which
connects to hosts with public addresses only, and to further ones that a person has named.
"""

import asyncio
import contextlib
import ipaddress
import os
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from tenure.sandbox.base import SOCKET_NAME, NetworkAccess
from tenure.sandbox.inside.relay import copy

PUBLIC_PORTS: Final = (80, 443)
"""Ports of public hosts that can be reached."""
MAX_HEAD_BYTES: Final = 1 << 16
CONNECT_TIMEOUT_SECONDS: Final = 30.0
MAX_CONNECTIONS: Final = 64
"""Concurrent connections of one command; package managers use up to 50."""

# Folders at the root of the sandbox that a folder of the host must not cover
_OWN_FOLDERS: Final = ("proc", "sys", "dev", "box", "in", "workspace", "environment", "node_modules")


class _Target(NamedTuple):
    host: str
    port: int
    head: bytes
    """Request to the host; empty for a tunnel."""


@asynccontextmanager
async def open_proxy(access: NetworkAccess | None) -> AsyncIterator[Path | None]:
    """Yield the folder with the socket of a proxy, or None without access."""
    if access is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="tenure-proxy-") as name:
        folder = Path(name)
        proxy = _Proxy(access)
        server = await asyncio.start_unix_server(proxy.handle, folder / SOCKET_NAME, limit=MAX_HEAD_BYTES)
        # The sandbox belongs to another user.
        os.chmod(folder, 0o755)  # noqa: PTH101 - Path.chmod counts as blocking
        os.chmod(folder / SOCKET_NAME, 0o666)  # noqa: PTH101
        try:
            yield folder
        finally:
            server.close()
            await proxy.close()


class _Proxy:
    """HTTP proxy for one command."""

    def __init__(self, access: NetworkAccess) -> None:
        self._access = access
        self._tasks: set[asyncio.Task[None]] = set()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) > MAX_CONNECTIONS:
                writer.write(b"HTTP/1.1 503 Too Many Connections\r\n\r\n")
                return
            await self._serve(reader, writer)
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
        finally:
            self._tasks.discard(task)
            with contextlib.suppress(OSError):
                writer.close()

    async def close(self) -> None:
        """End all connections."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = parse_head(await reader.readuntil(b"\r\n\r\n"))
        address = await self._find_address(target)
        if address is None:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
            outer_reader, outer_writer = await asyncio.open_connection(address, target.port)
        try:
            if target.head:
                outer_writer.write(target.head)
            else:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(copy(reader, outer_writer), copy(outer_reader, writer))
        finally:
            outer_writer.close()

    async def _find_address(self, target: _Target) -> str | None:
        """Return an address of a host that may be reached; the connection goes to this address and no other."""
        is_named = f"{target.host}:{target.port}" in self._access.hosts
        if not is_named and not (self._access.is_public and target.port in PUBLIC_PORTS):
            return None
        found = await asyncio.get_running_loop().getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        addresses = [str(entry[4][0]) for entry in found]
        if is_named:
            return addresses[0]
        if all(ipaddress.ip_address(address.partition("%")[0]).is_global for address in addresses):
            return addresses[0]
        return None


def parse_head(head: bytes) -> _Target:
    """Return the target of a request to a proxy.

    Raises:
        ValueError: it is no such request.
    """
    first, _, rest = head.partition(b"\r\n")
    method, url, version = first.decode("ascii").split(" ")
    parts = urlsplit(f"//{url}" if method == "CONNECT" else url)
    if not parts.hostname or (method != "CONNECT" and parts.scheme != "http"):
        raise ValueError("it is neither a tunnel nor an absolute address")
    if method == "CONNECT":
        return _Target(parts.hostname, parts.port or 443, b"")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # The next request of the same connection could name another host: the connection is closed.
    lines = [line for line in rest.split(b"\r\n") if not line.lower().startswith((b"proxy-", b"connection:"))]
    kept = b"\r\n".join(line for line in lines if line)
    text = f"{method} {path} {version}\r\nConnection: close\r\n".encode()
    return _Target(parts.hostname, parts.port or 80, text + kept + b"\r\n\r\n")


def read_hosts(values: tuple[str, ...]) -> frozenset[str]:
    """Return the hosts of all addresses of servers in some texts, with their ports."""
    found = set()
    for word in " ".join(values).split():
        parts = urlsplit(word)
        if parts.scheme in ("http", "https") and parts.hostname:
            found.add(f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}")
    return frozenset(found)


def read_paths(values: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the existing files and folders of this machine that some texts name, as paths or as `file:` addresses.

    The root and the folders that the sandbox itself has are left out.
    """
    words = [word.removeprefix("file://") for word in " ".join(values).split()]
    found = dict.fromkeys(Path(os.path.normpath(word)) for word in words if word.startswith("/"))
    # A system folder has its own content in the sandbox.
    return tuple(path for path in found if path.exists() and path.parts[1:2] and path.parts[1] not in _OWN_FOLDERS)
