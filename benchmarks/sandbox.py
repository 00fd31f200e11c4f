"""Measure the sandbox and what it leaves behind: `python -m benchmarks.sandbox [--runs N] [--at-once N] [--json]`.

Empty programs are run sequentially, and then many of them concurrently. Before and after, child processes, visible
mounts and entries of the temporary folder are counted; new ones were left behind.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tenure.contracts.sandbox import InputFile, Program
from tenure.sandbox.base import Sandbox, SandboxError
from tenure.sandbox.choice import make_sandbox
from tenure.sandbox.memory import list_descendants
from tenure.settings import Settings

EMPTY = Program(files=(InputFile(name="empty.py", text=""),), entry="empty.py")
ALONE = 40
"""Runs one after the other."""


class Left(NamedTuple):
    """Resources that could be left behind."""

    processes: frozenset[int]
    mounts: frozenset[str]
    temporary: frozenset[str]
    descriptors: int


def present() -> Left:
    """Return the present resources."""
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return Left(
        frozenset(list_descendants(os.getpid())),
        frozenset(mounts),
        frozenset(path.name for path in Path(tempfile.gettempdir()).iterdir() if "tenure" in path.name),
        len([*Path("/proc/self/fd").iterdir()]),
    )


async def timed(box: Sandbox, keep: Path) -> float:
    """Run an empty program and return its milliseconds."""
    began = time.perf_counter()
    outcome = await box.run(EMPTY, keep)
    if outcome.verdict != "passed":
        raise SandboxError(f"an empty program ended with {outcome.verdict}: {outcome.reason}")
    return (time.perf_counter() - began) * 1000


async def measured(runs: int, at_once: int) -> dict[str, object]:
    """Measure everything."""
    box = make_sandbox(Settings())
    with tempfile.TemporaryDirectory(prefix="sandbox-benchmark-") as folder:
        keep = Path(folder)
        await timed(box, keep)
        before = present()
        alone = [await timed(box, keep) for _ in range(ALONE)]
        room = asyncio.Semaphore(at_once)

        async def one() -> float:
            async with room:
                return await timed(box, keep)

        began = time.perf_counter()
        together = await asyncio.gather(*(one() for _ in range(runs)))
        seconds = time.perf_counter() - began
        after = present()
    return {
        "alone_p50_ms": round(statistics.median(alone), 1),
        "alone_p95_ms": round(statistics.quantiles(alone, n=20)[-1], 1),
        "runs": runs,
        "at_once": at_once,
        "p50_ms": round(statistics.median(together), 1),
        "p95_ms": round(statistics.quantiles(together, n=20)[-1], 1),
        "runs_per_second": round(runs / seconds, 1),
        "left_processes": len(after.processes - before.processes),
        "left_mounts": len(after.mounts - before.mounts),
        "left_temporary": len(after.temporary - before.temporary),
        "left_descriptors": max(0, after.descriptors - before.descriptors),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    try:
        found = asyncio.run(measured(arguments.runs, arguments.at_once))
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 4
    print(json.dumps(found, indent=2) if arguments.json else "\n".join(f"{name}: {one}" for name, one in found.items()))
    left = ("left_processes", "left_mounts", "left_temporary", "left_descriptors")
    return 1 if any(found[name] for name in left) else 0


if __name__ == "__main__":
    sys.exit(main())
