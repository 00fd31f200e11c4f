"""Runs a function of the tests as an ordinary user, from a test run that is root.

An interpreter that only root can reach gets an open path to it, in a mount namespace of that process alone.
"""

import importlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tenure.sandbox.launcher import UNPRIVILEGED_ID, is_reachable

ROOT = Path(__file__).resolve().parents[2]


def called(function: str) -> Any:
    """Call `module:function` in a process of an ordinary user and return its value, which is JSON."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("setpriv"):
        pytest.skip("only root can become another user, with unshare and setpriv")
    needed = [Path(sys.base_prefix), Path(sys.prefix), ROOT]
    script = [*_opened([path for path in needed if not is_reachable(path)])]
    user = ["setpriv", f"--reuid={UNPRIVILEGED_ID}", f"--regid={UNPRIVILEGED_ID}", "--clear-groups"]
    script.append(shlex.join(["exec", *user, sys.executable, "-m", "tests.sandbox.ordinary", function]))
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "slave", "sh", "-ec", "\n".join(script)],
        cwd=ROOT,
        env={**os.environ, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def _opened(hidden: list[Path]) -> list[str]:
    """Return the commands that make hidden folders reachable under their own paths."""
    if not hidden:
        return []
    closed = {
        next(one for one in reversed(path.parents) if not one.stat().st_mode & 0o001)
        for path in hidden
        if any(not one.stat().st_mode & 0o001 for one in path.parents)
    }
    commands = ["mount -t tmpfs none /mnt"]
    for number, path in enumerate(hidden):
        commands += [f"mkdir /mnt/{number}", f"mount --rbind {shlex.quote(str(path))} /mnt/{number}"]
    commands += [f"mount -t tmpfs none {shlex.quote(str(path))}" for path in sorted(closed)]
    for number, path in enumerate(hidden):
        quoted = shlex.quote(str(path))
        commands += [f"mkdir -p {quoted}", f"mount --rbind /mnt/{number} {quoted}"]
    return commands


if __name__ == "__main__":
    module, _, name = sys.argv[1].partition(":")
    print(json.dumps(getattr(importlib.import_module(module), name)()))
