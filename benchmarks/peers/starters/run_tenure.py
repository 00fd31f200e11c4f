"""Tenure on local documents, as its tutorial describes; a killed stack continues with `up` and `watch`."""

import subprocess
import sys

from benchmarks.peers.documents import ROOT
from benchmarks.peers.starters.task import Task, read_task

_RUN = "peers"


def build_commands(task: Task) -> list[tuple[str, ...]]:
    """Return the command lines of a task, in order."""
    if task.resume:
        return [("up",), ("watch", _RUN, "-o", str(task.report))]
    start = ("start", task.question, "--docs", str(task.documents), "-o", str(task.report), "--no-memory")
    # A name of its own makes the run known after a crash; later questions get names from their words.
    return [(*start, "--id", _RUN) if not (task.folder / "tenure").exists() else start]


def main() -> int:
    """Answer the question of the command line; return the exit code of the last command."""
    code = 0
    for command in build_commands(read_task()):
        code = subprocess.run([sys.executable, str(ROOT / "client.py"), *command], check=False).returncode
    return code


if __name__ == "__main__":
    sys.exit(main())
