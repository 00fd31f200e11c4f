"""The network of the gate: nothing outside reaches what listens in it, and a refusal leaves the process as it was."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.other_user import OTHER_USER, needs_root, run_as_other_user

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has network namespaces")

ROOT = Path(__file__).parents[3]

ISOLATE = """\
import socket, sys
from tenure.temporal.gate.network import isolate_network
outer = socket.create_server(("127.0.0.1", 0))
print(repr(isolate_network()))
inner = socket.create_server(("127.0.0.1", 0))
socket.create_connection(inner.getsockname()).close()
print(outer.getsockname()[1], inner.getsockname()[1], flush=True)
accepted, _ = outer.accept()
print(accepted.recv(5).decode())
"""

WITHOUT_NAMESPACES = """\
import ctypes, os
user, group = os.geteuid(), os.getegid()
assert ctypes.CDLL(None).unshare(0x10000000) == 0
for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
    open(f"/proc/self/{name}", "w").write(text)
for kind in ("net", "user"):
    open(f"/proc/sys/user/max_{kind}_namespaces", "w").write("0")
"""


def run_isolated(program: str) -> tuple[str, bool]:
    """Run a program that isolates itself; return the obstacle, and whether its inner port was reached from here."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        obstacle = process.stdout.readline().strip()
        outer, inner = map(int, process.stdout.readline().split())
        try:
            socket.create_connection(("127.0.0.1", inner), timeout=5).close()
            reached = True
        except ConnectionRefusedError:
            reached = False
        with socket.create_connection(("127.0.0.1", outer), timeout=5) as connection:
            connection.sendall(b"hello")
            assert process.stdout.readline().strip() == "hello"
    return obstacle, reached


def test_what_listens_inside_is_unreachable() -> None:
    """A port of the isolated process is refused outside, while a socket from before still serves the machine."""
    assert run_isolated(ISOLATE) == ("''", False)


def test_a_refusal_leaves_the_process_in_the_machines_network() -> None:
    """If no namespace may be created, the obstacle is named, and the process can still listen."""
    obstacle, reached = run_isolated(WITHOUT_NAMESPACES + ISOLATE)
    assert "refuses a network namespace" in obstacle
    assert reached


@needs_root
def test_an_ordinary_user_isolates_itself_too() -> None:
    """Without root, a user namespace gives the network; programs that are started in it have no rights of root."""
    code = """
ctypes.CDLL(None).prctl(4, 1)  # as a program that this user started: its files in /proc belong to the user
print(repr(network.isolate_network()), os.geteuid())
inner = socket.create_server(("127.0.0.1", 0))
socket.create_connection(inner.getsockname()).close()
print(subprocess.run(["grep", "CapEff", "/proc/self/status"], capture_output=True, text=True).stdout)
"""
    printed = run_as_other_user("import ctypes, os, socket, subprocess\nfrom tenure.temporal.gate import network", code)
    assert printed.split() == ["''", str(OTHER_USER), "CapEff:", "0" * 16]
