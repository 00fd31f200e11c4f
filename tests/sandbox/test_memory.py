"""Test the memory measurement of process trees, and the delegated control group."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.sandbox.memory import ControlGroup, list_descendants, measure_memory

BLOCK = "import sys, time\nblock = b'1' * (40 << 20)\nprint('up', flush=True)\ntime.sleep(99)"


def test_memory_is_added_up_over_a_family() -> None:
    """Processes below a process are found, and their memory is counted together, below and above the limit."""
    children = [subprocess.Popen([sys.executable, "-c", BLOCK], stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == b"up\n"
        assert {child.pid for child in children} <= set(list_descendants(os.getpid()))
        assert measure_memory(os.getpid(), 10_000) > 80
        assert measure_memory(os.getpid(), 10) > 80
    finally:
        for child in children:
            child.kill()
            child.communicate()


def test_an_ended_process_uses_no_memory() -> None:
    """An ended process uses no memory and has no descendants."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    assert (list_descendants(gone.pid), measure_memory(gone.pid, 1)) == ([], 0)


def test_a_control_group_is_bounded_filled_and_read(tmp_path: Path) -> None:
    """A group gets its limits and its processes, and reports an end by memory; a plain folder replaces the kernel's."""
    group = ControlGroup(tmp_path, memory_mib=100, processes=10)

    assert (group.folder / "memory.max").read_text() == str(100 << 20)
    assert (group.folder / "memory.swap.max").read_text() == "0"
    assert (group.folder / "pids.max").read_text() == "18"
    assert not group.has_exceeded_limit
    group.add_process(4321)
    assert (group.folder / "cgroup.procs").read_text() == "4321"
    (group.folder / "memory.events").write_text("low 0\noom_kill 1\n")
    (group.folder / "memory.peak").write_text(str(99 << 20))
    assert (group.has_exceeded_limit, group.peak_mib) == (True, 99.0)
    with pytest.raises(OSError, match="not empty"):
        group.remove()
    for file in group.folder.iterdir():
        file.unlink()
    group.remove()
    group.remove()
    assert group.peak_mib is None
