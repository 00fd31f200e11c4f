"""The users of connections within the machine, from the kernel's table."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tenure.temporal.gate.peers import PeerTable, find_listener_user
from tests.support.other_user import OTHER_USER, needs_root

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the table")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(30)
        yield listening


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_own_connections_are_known(listener: socket.socket, family: socket.AddressFamily) -> None:
    """A connection of this user is attributed to it, also if the program uses IPv6 sockets for IPv4."""
    host = "127.0.0.1" if family == socket.AF_INET else "::ffff:127.0.0.1"
    with socket.socket(family) as client:
        client.connect((host, listener.getsockname()[1]))
        accepted, _ = listener.accept()
        with accepted:
            assert PeerTable().find_user(accepted) == os.geteuid()


def test_a_connection_that_is_closed_has_no_user(listener: socket.socket) -> None:
    """The kernel shows root as owner of a closed end, which must not count."""
    with socket.create_connection(listener.getsockname()) as client:
        accepted, _ = listener.accept()
        client.sendall(b"request")
    with accepted:
        assert PeerTable().find_user(accepted) is None


@needs_root
def test_other_users_are_told_apart(listener: socket.socket) -> None:
    """A connection of another user is attributed to that user while it is open, and to none afterwards."""
    code = "c = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); c.recv(1)"
    port = listener.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, "-c", f"import encodings.idna, os, socket, sys; os.setuid({OTHER_USER}); {code}", str(port)]
    ):
        accepted, _ = listener.accept()
        with accepted:
            assert PeerTable().find_user(accepted) == OTHER_USER


def test_the_owner_of_a_listening_port_is_known(listener: socket.socket) -> None:
    """A listening program's user is known, and a free port has none."""
    port = listener.getsockname()[1]
    assert find_listener_user(port) == os.geteuid()
    listener.close()
    assert find_listener_user(port) is None


@needs_root
def test_a_listener_of_another_user_is_told_apart() -> None:
    """Another user's program on a port is not mistaken for one's own."""
    code = "s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", f"import encodings.idna, os, socket, sys; os.setuid({OTHER_USER}); {code}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert find_listener_user(int(process.stdout.readline())) == OTHER_USER
        process.communicate("")
