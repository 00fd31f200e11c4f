"""Move this process into a network of its own, which other processes of the machine cannot reach.

Sockets that were opened before the move stay in the machine's network: the gate listens there, and the Temporal
server listens inside. Linux offers this to root and, with user namespaces, to ordinary users.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from pathlib import Path

# CLONE_NEWUSER and CLONE_NEWNET of <linux/sched.h>.
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
# PR_SET_PDEATHSIG of <linux/prctl.h>.
_SET_PARENT_DEATH_SIGNAL = 1
# SIOCSIFFLAGS of <linux/sockios.h>, with IFF_UP and IFF_RUNNING of <linux/if.h>.
_SET_INTERFACE_FLAGS = 0x8914
_UP_AND_RUNNING = 0x1 | 0x40


def isolate_network() -> str:
    """Move this process into a new network with a loopback interface; return an empty string or the obstacle.

    The process must have one thread. After a failure it is still in the machine's network.
    """
    if sys.platform != "linux":
        return "this system has no network namespaces"
    # A child tries first: a process cannot return from a half-prepared network.
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _enter_network()
        except OSError as error:
            os.write(writer, (error.strerror or "refused").encode())
            os._exit(1)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        obstacle = pipe.read().decode()
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        return f"the system refuses a network namespace ({obstacle or 'the attempt crashed'})"
    _enter_network()
    return ""


def end_with_parent() -> None:
    """Set the kernel to kill this process when its parent ends; called in a new child."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _enter_network() -> None:
    """Enter a new network namespace, in a user namespace if this user may not create one otherwise."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_NETWORK) != 0:
        user, group = os.geteuid(), os.getegid()
        if libc.unshare(_NEW_USER | _NEW_NETWORK) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_INTERFACE_FLAGS, struct.pack("16sH14x", b"lo", _UP_AND_RUNNING))
