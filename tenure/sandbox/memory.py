"""Memory of all processes of a sandbox: held by a control group that an operator delegated, else watched.

A control group is exact. Without one, memory is added up several times a second and the sandbox is ended when it is
above its limit, which is best effort: between two looks a program can take more than it may.
"""

import contextlib
import os
import uuid
from pathlib import Path
from typing import Final

MIB: Final = 1 << 20
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class ControlGroup:
    """A control group (version 2) for one run, below one that was delegated."""

    def __init__(self, delegated: Path, memory_mib: int, processes: int) -> None:
        self.folder = delegated / f"tenure-{uuid.uuid4().hex[:12]}"
        self.folder.mkdir()
        bounds = {
            "memory.max": memory_mib * MIB,
            "memory.swap.max": 0,
            "memory.oom.group": 1,
            # The processes of the set-up come on top.
            "pids.max": processes + 8,
        }
        for name, bound in bounds.items():
            (self.folder / name).write_text(str(bound))

    def take(self, pid: int) -> None:
        """Put a process into the group."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    @property
    def exceeded(self) -> bool:
        """Whether the kernel ended something for its memory."""
        with contextlib.suppress(OSError):
            for line in (self.folder / "memory.events").read_text().splitlines():
                name, _, count = line.partition(" ")
                if name in ("oom_kill", "oom_group_kill") and int(count):
                    return True
        return False

    @property
    def peak_mib(self) -> float | None:
        """Most memory that was in use, where the kernel tells."""
        try:
            return int((self.folder / "memory.peak").read_text()) / MIB
        except (OSError, ValueError):
            return None

    def remove(self) -> None:
        """Remove the group once all of its processes are gone."""
        with contextlib.suppress(FileNotFoundError):
            self.folder.rmdir()


def in_use(process: int, limit_mib: int) -> float:
    """Return the mebibytes that a process and all processes below it use together.

    Pages that processes share are counted for each of them, which is quick to read, as long as that stays below the
    limit; above it, each page is counted once.
    """
    family = descendants(process)
    quick = sum(_resident(pid) for pid in family) * _PAGE / MIB
    if quick <= limit_mib:
        return quick
    return min(quick, sum(_share(pid) for pid in family) / 1024)


def descendants(process: int) -> list[int]:
    """Return the processes below a process."""
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


def _resident(pid: int) -> int:
    """Return the pages of a process that are in memory."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0


def _share(pid: int) -> int:
    """Return the kibibytes of a process, its shares of what others use too included."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        # Not to be looked into, or gone: what it has alone is not known, so all of it counts.
        return _resident(pid) * _PAGE // 1024
    return next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0)
