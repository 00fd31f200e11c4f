"""Listen on this machine for one user: the rule of every port of the product.

A connection within the machine is served only if a process of a permitted user holds its other end. Addresses other
than loopback are for other machines, whose users the kernel does not know; the services there check tokens.
"""

import errno
import logging
import os
import socket
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from tenure.temporal.gate.peers import PeerTable
from tenure.temporal.gate.sockets import get_socket_address

ROOT = 0
"""User id of root, which forwards ports for users."""

# Connections that the kernel holds until they are accepted.
_BACKLOG = 256


class UserListener(socket.socket):
    """Listening socket that closes connections of other users before they are served.

    The loops of asyncio, and so every server on them, take `ConnectionAbortedError` for a client that has gone. The
    table is that of the network in which this object is created.
    """

    def __init__(self, fileno: int, users: frozenset[int]) -> None:
        super().__init__(fileno=fileno)
        self._users = users
        self._peers = PeerTable()
        self._reported: set[int | None] = set()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection.

        Raises:
            ConnectionAbortedError: the connection is of another user, or its client has gone.
        """
        accepted, address = super().accept()
        if not self._serves(accepted):
            accepted.close()
            raise ConnectionAbortedError(errno.ECONNABORTED, "the connection is refused")
        return accepted, address

    def close(self) -> None:
        """Close the socket and its table."""
        super().close()
        self._peers.close()

    def _serves(self, accepted: socket.socket) -> bool:
        """Return whether a permitted user opened a connection; every user if the system hides it."""
        if not self._peers.is_available:
            return True
        try:
            user = self._peers.find_user(accepted)
        except OSError:
            return False  # the client has gone
        if user in self._users:
            return True
        if user not in self._reported:
            self._reported.add(user)
            peer = "an unknown user" if user is None else f"user {user}"
            port = self.getsockname()[1]
            logging.getLogger(__name__).warning("connections of %s to port %s are refused", peer, port)
        return False


def listen(host: str, port: int, *, allows_root: bool = True) -> socket.socket:
    """Return a socket that listens on an address, on a loopback address for this user only.

    Args:
        host: address or name of this machine.
        port: port; 0 for any free port.
        allows_root: whether root may connect too. It forwards ports for other users, so a service without a key or a
            cookie refuses it.

    Raises:
        OSError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    return restrict_users(listening, allows_root=allows_root)


def restrict_users(listening: socket.socket, *, allows_root: bool = True) -> socket.socket:
    """Return a listening socket that serves this user only if it listens on a loopback address; see `listen`."""
    if not ip_address(listening.getsockname()[0]).is_loopback:
        return listening
    users = frozenset({os.geteuid(), ROOT} if allows_root else {os.geteuid()})
    return UserListener(listening.detach(), users)


def listen_in_home(home: Path, name: str) -> socket.socket:
    """Return a Unix socket that listens in a home, in the place of one that an ended process left.

    Raises:
        OSError: the home cannot be written.
    """
    address = get_socket_address(home, name)
    Path(address).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(address)
        Path(address).chmod(0o600)
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
