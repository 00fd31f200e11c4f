"""Add system call filters to a process that already runs, so that it cannot signal the process that judges it.

The sandbox's own system call filter cannot know the number of the tests' process. The candidate's process adds a
filter with that number to itself and to all processes that it will start, before it imports the candidate.
"""

import ctypes
import os
import struct
from typing import Final

_EPERM: Final = 0x00050001
_ALLOW: Final = 0x7FFF0000
_FILTER_MODE: Final = 2
_SET_SECCOMP: Final = 22
_CALLS: Final = {"x86_64": (62, 234, 434), "aarch64": (129, 131, 434)}
"""Numbers of kill, tgkill and pidfd_open; the sandbox's filter refuses all other ways and other architectures."""


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def protect(tests: int) -> None:
    """Refuse signals of this process and its children to a process, to its group, and to all processes.

    Raises:
        OSError: the kernel does not take the filter.
    """
    # A group of its own, so that signals to its own group reach no other process.
    os.setsid()
    load_filter(encode_filter(tests, os.uname().machine))


def load_filter(encoded: bytes) -> None:
    """Add a filter to this process and its children.

    Raises:
        OSError: the kernel does not take the filter.
    """
    program = _Program(len(encoded) // 8, encoded)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_SECCOMP, ctypes.c_ulong(_FILTER_MODE), ctypes.byref(program), 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def encode_filter(tests: int, machine: str) -> bytes:
    """Return the filter: load the number, and for the listed calls compare the first argument."""
    # Kill takes a process, the negative number of a group, and -1 for everybody.
    targets = [tests, -tests & 0xFFFFFFFF, 0xFFFFFFFF]
    comparisons = [(0x15, len(targets) - place, 0, target) for place, target in enumerate(targets)]
    numbers = _CALLS[machine]
    steps = [(0x20, 0, 0, 0)]
    steps += [(0x15, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    steps += [(0x06, 0, 0, _ALLOW), (0x20, 0, 0, 16), *comparisons, (0x06, 0, 0, _ALLOW), (0x06, 0, 0, _EPERM)]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
