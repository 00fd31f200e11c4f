"""Limit the memory of all processes of a sandbox, by a delegated control group or by polling.

A control group is exact. Without one, memory is summed up several times a second and the sandbox is killed when it
exceeds its limit. That is best effort: between two polls a program can use more.
"""

import contextlib
import os
import uuid
from pathlib import Path
from typing import Final

MIB: Final = 1 << 20
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class ControlGroup:
    """Control group (version 2) of one run, below a delegated one."""

    def __init__(self, delegated: Path, memory_mib: int, processes: int) -> None:
        self.folder = delegated / f"tenure-{uuid.uuid4().hex[:12]}"
        self.folder.mkdir()
        bounds = {
            "memory.max": memory_mib * MIB,
            "memory.swap.max": 0,
            "memory.oom.group": 1,
            # The processes of the set-up are added.
            "pids.max": processes + 8,
        }
        for name, bound in bounds.items():
            (self.folder / name).write_text(str(bound))

    def add_process(self, pid: int) -> None:
        """Add a process to the group."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    @property
    def has_exceeded_limit(self) -> bool:
        """Whether the kernel killed a process for its memory."""
        with contextlib.suppress(OSError):
            for line in (self.folder / "memory.events").read_text().splitlines():
                name, _, count = line.partition(" ")
                if name in ("oom_kill", "oom_group_kill") and int(count):
                    return True
        return False

    @property
    def peak_mib(self) -> float | None:
        """Peak memory use in MiB, or None if the kernel does not report it."""
        try:
            return int((self.folder / "memory.peak").read_text()) / MIB
        except (OSError, ValueError):
            return None

    def remove(self) -> None:
        """Remove the group after all of its processes have ended."""
        with contextlib.suppress(FileNotFoundError):
            self.folder.rmdir()


def measure_memory(process: int, limit_mib: int) -> float:
    """Return the memory of a process and its descendants in MiB.

    Shared pages are counted once per process, which is fast to read, as long as the sum is below the limit; above it,
    the proportional set size is used.
    """
    family = list_descendants(process)
    quick = sum(_count_resident_pages(pid) for pid in family) * _PAGE / MIB
    if quick <= limit_mib:
        return quick
    return min(quick, sum(_read_proportional_set_size(pid) for pid in family) / 1024)


def list_descendants(process: int) -> list[int]:
    """Return the descendants of a process."""
    found: list[int] = []
    waiting = [process]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                children = (task / "children").read_text()
                waiting += (new := [int(child) for child in children.split()])
                found += new
    return found


def _count_resident_pages(pid: int) -> int:
    """Return the number of resident pages of a process."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0


def _read_proportional_set_size(pid: int) -> int:
    """Return the proportional set size of a process in KiB."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        # Not readable, or ended: its private memory is unknown, so all of it counts.
        return _count_resident_pages(pid) * _PAGE // 1024
    return next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
