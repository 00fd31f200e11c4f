"""What processes that deal with other people's files are told, nothing worth stealing, and what they may use."""

import os
import resource
import sys
from typing import Final

_PASSED_ON: Final = frozenset(
    {
        *("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP", "LANG", "LANGUAGE", "TZ"),
        *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "PYTHONUTF8", "PYTHONPYCACHEPREFIX"),
    }
)
"""What a Python process needs of its environment; keys of servers are none of a parser's business."""


def environment() -> dict[str, str]:
    """Return the environment of a child that sees what this process can import, and no secret of it."""
    kept = {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}
    return kept | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def confine(memory_mb: int) -> None:
    """Let whatever needs more memory than this fail in this process, and leave no dump when it dies of it.

    Linux holds the limit; macOS knows it and does not.
    """
    resource.setrlimit(resource.RLIMIT_DATA, (memory_mb * 2**20,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
