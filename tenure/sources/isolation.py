"""Isolate child processes that parse untrusted files: an environment without secrets, and a memory limit."""

import os
import resource
import sys
from typing import Final

from tenure.extensions import PLUGINS_VARIABLE

_PASSED_ON: Final = frozenset(
    {
        *("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "LANG", "LANGUAGE", "TZ"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "PYTHONUTF8", "PYTHONPYCACHEPREFIX"),
        PLUGINS_VARIABLE,
    }
)
"""Variables that a child process inherits; it gets no keys of servers."""


def build_child_environment() -> dict[str, str]:
    """Return an environment for a child process: the import path of this process, and none of its secrets."""
    inherited = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}
    return inherited | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def limit_memory(memory_mb: int) -> None:
    """Limit the memory of this process, and disable core dumps.

    Linux enforces the limit; macOS ignores it.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (memory_mb * 2**20,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
