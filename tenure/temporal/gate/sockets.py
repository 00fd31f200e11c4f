"""Address the Unix sockets of a home, which only its user can reach, and name what the gate and others agree on."""

import os
import sys
from functools import cache
from pathlib import Path

GATE_SOCKET = "gate.sock"
"""Socket of the gate: connections of the product's own programs to the Temporal server."""

CODEC_SOCKET = "codec.sock"
"""Socket of the worker's codec server."""

CODEC_PATH = "/codec"
"""Path of the web UI's origin below which payloads are decrypted."""

NAMESPACES_VARIABLE = "TENURE_GATE_NAMESPACES"
"""Variable of the gate: a JSON object of namespaces by the hashes of their owners' keys; not set without owners."""

_MAX_PATH_BYTES = 100
"""Length of a path that every system accepts as the address of a socket."""


def get_socket_address(home: Path, name: str) -> str:
    """Return an address of a socket in a home; a path that is too long is shortened through a descriptor.

    Raises:
        OSError: the home does not exist, or its path is too long for this system.
    """
    path = home.absolute() / name
    if len(os.fsencode(path)) <= _MAX_PATH_BYTES:
        return str(path)
    if sys.platform != "linux":
        raise OSError(f"the path {path} is too long for a socket: set TENURE_HOME to a shorter path")
    return f"/proc/self/fd/{_open_folder(home.absolute())}/{name}"


@cache
def _open_folder(folder: Path) -> int:
    """Open a folder for the life of this process: connections are made again whenever they break."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
