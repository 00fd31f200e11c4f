"""Test the memory measurement of process trees, and the delegated control group."""

import contextlib
import math
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.sandbox import memory
from tenure.sandbox.memory import MemoryWatch, count_charges, count_sockets, list_descendants, measure_processes

BLOCK = "import sys, time\nblock = b'1' * (40 << 20)\nprint('up', flush=True)\ntime.sleep(99)"


def test_memory_is_added_up_over_a_family() -> None:
    """Processes below a process are found, and their memory is counted together, below and above the limit."""
    children = [subprocess.Popen([sys.executable, "-c", BLOCK], stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == b"up\n"
        assert {child.pid for child in children} <= set(list_descendants(os.getpid()))
        assert measure_processes(list_descendants(os.getpid()), 10_000) > 80
        assert measure_processes(list_descendants(os.getpid()), 10) > 80
    finally:
        for child in children:
            child.kill()
            child.communicate()


def test_an_ended_process_uses_no_memory() -> None:
    """An ended process uses no memory and has no descendants."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()

    assert (list_descendants(gone.pid), measure_processes([gone.pid], 1)) == ([], 0)


HOLDER = """
import ctypes, fcntl, mmap, os, select, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
place = libc.mmap(None, ctypes.c_size_t(4000 * 8192), 0, 0x22, -1, 0)
for number in range(4000):
    libc.mprotect(ctypes.c_void_p(place + number * 8192), ctypes.c_size_t(4096), 3)
shared = [mmap.mmap(-1, 4096) for _ in range(20)]
events = select.epoll()
for _ in range(50):
    events.register(os.pipe()[0])
file = os.open("locked", os.O_CREAT | os.O_RDWR)
for place in range(0, 80, 2):
    fcntl.lockf(file, fcntl.LOCK_EX, 1, place)
print("up", flush=True)
time.sleep(99)
"""


@contextlib.contextmanager
def holding(folder: Path) -> Iterator[int]:
    """Run a process that makes the kernel hold much for it; two of them in one folder wait for each other's lock."""
    child = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, cwd=folder)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        yield child.pid
    finally:
        child.kill()
        child.communicate()


def test_what_the_kernel_holds_is_charged(tmp_path: Path) -> None:
    """Open files, mappings, watched files and locks are charged, and each anonymous shared mapping is listed."""
    with holding(tmp_path) as pid:
        charge = count_charges(pid, 1 << 40)

    assert len(charge.shared) == 20
    files = (100 + 100) * memory.DESCRIPTOR_BYTES
    entries = (50 + 40) * memory.ENTRY_BYTES
    assert charge.used > files + entries + 7000 * memory.MAPPING_BYTES
    assert charge.used < 2 * (files + entries + 8000 * memory.MAPPING_BYTES)


def test_counting_ends_above_the_limit(tmp_path: Path) -> None:
    """Lists of the kernel are not read further once the limit is exceeded."""
    with holding(tmp_path) as pid:
        charge = count_charges(pid, 1 << 20)

    assert 1 << 20 < charge.used < 8 << 20


def test_processes_that_hide_exceed_every_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose lists may not be read counts as infinite, unless it is only for a moment."""

    def refuse(pid: int, limit: int) -> None:
        raise PermissionError(pid)

    monkeypatch.setattr(memory, "count_charges", refuse)
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    with holding(folders[0]), holding(folders[1]):
        watch = MemoryWatch(os.getpid())
        assert watch.measure(1 << 20).kernel < math.inf
        monkeypatch.setattr(memory, "MAX_HIDDEN_SECONDS", -1.0)
        assert MemoryWatch(os.getpid()).measure(1 << 20).kernel == math.inf


def test_sockets_are_counted_that_no_process_has_open() -> None:
    """Connections that were never accepted count, although both of their ends are in no list of open files."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("")
        listener.listen(400)
        before = count_sockets(os.getpid()).sockets
        for _ in range(300):
            with socket.socket(socket.AF_UNIX) as one:
                one.connect(listener.getsockname())

        assert count_sockets(os.getpid()).sockets > before + 200


def test_many_processes_stand_still_only_while_they_are_measured() -> None:
    """A family of many processes continues after a measurement, and a mapping of all of them counts once."""
    children = [subprocess.Popen([sys.executable, "-c", BLOCK], stdout=subprocess.PIPE) for _ in range(9)]
    try:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == b"up\n"
        assert MemoryWatch(os.getpid()).measure(10_000).programs > 9 * 40
        for child in children:
            state = next(line for line in Path(f"/proc/{child.pid}/status").read_text().splitlines() if "State" in line)
            assert "stopped" not in state
    finally:
        for child in children:
            child.kill()
            child.communicate()
