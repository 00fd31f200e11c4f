"""Run Python code as another user of the machine, for tests that run as root."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OTHER_USER = 65534
"""User without any rights of its own."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process as another user")
"""Mark of a test that needs a second user."""

_ROOT = Path(__file__).parents[2]
_BECOME = f"import encodings.idna, os; os.setgroups([]); os.setgid({OTHER_USER}); os.setuid({OTHER_USER})"


def run_as_other_user(imports: str, code: str, *arguments: str, timeout: float = 60) -> str:
    """Run code as another user and return its output; imports come first, as root, since that user may read no file."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join((imports, _BECOME, code)), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(_ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
