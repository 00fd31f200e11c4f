"""Add a system call filter to this process, if the back-end cannot start the sandbox with it."""

import ctypes
import os
from typing import Final

# prctl(2): SECCOMP_MODE_FILTER and PR_SET_SECCOMP
_FILTER_MODE: Final = 2
_SET_SECCOMP: Final = 22


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


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
