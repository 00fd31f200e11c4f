"""Find the user at the other end of a TCP connection within this machine, from the kernel's table of connections."""

import os
import socket
import struct
import sys
from itertools import product
from typing import Final

_TABLES: Final = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
_OPEN_STATES: Final = ("01", "04", "05")
"""States of a connection whose other end is open: established, or closed by it for sending only."""
_ATTEMPTS: Final = 3
"""Readings of the table: a row may be missed if the table changes between two parts of one."""
_MAPPED_PREFIX: Final = "0000000000000000FFFF0000"
"""Start of an IPv4 address in the table of IPv6 connections."""

Address = tuple[str, int]


class PeerTable:
    """Table of the connections of the network in which this object was created."""

    def __init__(self) -> None:
        self._tables = (
            [os.open(path, os.O_RDONLY) for path in _TABLES if os.path.exists(path)]  # noqa: PTH110
            if sys.platform == "linux"
            else []
        )

    @property
    def is_available(self) -> bool:
        """Whether the system reveals the owners of connections."""
        return bool(self._tables)

    def close(self) -> None:
        """Close the table."""
        while self._tables:
            os.close(self._tables.pop())

    def find_user(self, accepted: socket.socket) -> int | None:
        """Return the user id of the process that opened an accepted connection, None if it is unknown.

        Only a connection whose other end is still open counts: the kernel forgets the owner of a closed one.
        """
        near, far = accepted.getsockname()[:2], accepted.getpeername()[:2]
        for _ in range(_ATTEMPTS):
            for table in self._tables:
                if (user := _find_row(_read_all(table), far, near)) is not None:
                    return user
        return None


def find_listener_user(port: int) -> int | None:
    """Return the user id of the process that listens on a port of 127.0.0.1, None if there is none or it is unknown."""
    if sys.platform != "linux":
        return None
    local = {_encode(("127.0.0.1", port)), _encode(("0.0.0.0", port))}
    mapped = {_MAPPED_PREFIX + _encode(("127.0.0.1", port)), f"{'0' * 32}:{port:04X}"}
    for path in _TABLES:
        try:
            with open(path, encoding="ascii") as file:  # noqa: PTH123
                rows = [line.split() for line in file][1:]
        except FileNotFoundError:
            continue
        for row in rows:
            if row[3] == "0A" and row[1] in local | mapped:
                return int(row[7])
    return None


def _read_all(table: int) -> str:
    """Return the current contents of an open table."""
    os.lseek(table, 0, os.SEEK_SET)
    parts = []
    while part := os.read(table, 1 << 16):
        parts.append(part)
    return b"".join(parts).decode("ascii")


def _find_row(text: str, local: Address, remote: Address) -> int | None:
    """Return the owner of the open connection between two addresses."""
    for prefix, state in product(("", _MAPPED_PREFIX), _OPEN_STATES):
        start = text.find(f" {prefix}{_encode(local)} {prefix}{_encode(remote)} {state} ")
        if start >= 0:
            row = text[start:].split("\n", 1)[0].split()
            # Columns after the state: queues, timer, retransmissions, user, timeout, inode. A socket that its process
            # has closed has the inode 0.
            user, inode = int(row[6]), int(row[8])
            return user if inode else None
    return None


def _encode(address: Address) -> str:
    """Return an address as the kernel's table shows it."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    # Words of 32 bits in the byte order of the machine: 127.0.0.1 is 0100007F on most machines.
    words = struct.iter_unpack("=I", socket.inet_pton(family, address[0]))
    return f"{''.join(f'{word:08X}' for (word,) in words)}:{address[1]:04X}"
