"""Run programs that make the kernel use memory without a control group that counts it, and honest programs."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from tenure.contracts.sandbox import InputFile, Program, SandboxLimits, SandboxOutcome
from tenure.sandbox.base import SetupFailed
from tenure.sandbox.engine import ContainedSandbox
from tenure.sandbox.memory import read_available_mib
from tests.sandbox import hoards, ordinary
from tests.sandbox.conftest import made
from tests.support.tiers import slow

FILE = Path(hoards.__file__)
LIMITS = SandboxLimits(wall_seconds=12, cpu_seconds=20, memory_mib=256)
SAFE_MIB = 1500
"""Memory of this machine that a hoard may take before the test ends it and fails."""
BOUNDED = {"pipes", "sockets_in_flight", "locks", "mappings", "chains_of_forks", "watched_files"}
"""Hoards that the kernel bounds below the limit, or that grow too slowly to reach it in time on a busy machine."""


async def run_hoard(box: ContainedSandbox, name: str, keep: Path) -> tuple[SandboxOutcome, int]:
    """Run a hoard and return its outcome, and the memory in MiB that this machine lost meanwhile."""
    before = read_available_mib()
    program = Program(
        files=(InputFile(name="hoards.py", path=str(FILE)),), entry="hoards.py", args=(name,), limits=LIMITS
    )
    running = asyncio.create_task(box.run(program, keep))
    lost = 0
    while not running.done():
        lost = max(lost, before - read_available_mib())
        if lost > SAFE_MIB:
            running.cancel()
        await asyncio.wait([running], timeout=0.01)
    return await running, lost


def is_contained(name: str, outcome: SandboxOutcome) -> bool:
    """Return whether a hoard was refused, ended by its limit, or bounded."""
    if outcome.stdout.startswith("refused"):
        return True
    if outcome.verdict == "limit":
        return bool({"memory", "files"} & {*outcome.limits_hit})
    return name in BOUNDED and outcome.verdict == "timeout"


@slow
@pytest.mark.parametrize("name", hoards.HOARDS)
async def test_no_hoard_takes_more_than_its_limit(box: ContainedSandbox, name: str, tmp_path: Path) -> None:
    """The kernel refuses its memory to a program, or the program is ended before this machine loses much memory."""
    outcome, lost = await run_hoard(box, name, tmp_path)

    assert is_contained(name, outcome), (outcome.verdict, outcome.limits_hit, outcome.stdout, outcome.stderr, lost)


async def test_filled_sockets_are_counted(box: ContainedSandbox, tmp_path: Path) -> None:
    """Connections that were never accepted, in one open file, end the program by its memory limit."""
    outcome, _ = await run_hoard(box, "waiting_connections", tmp_path)

    assert (outcome.verdict, outcome.limits_hit) == ("limit", ("memory",))


@slow
def test_hoards_are_counted_for_an_ordinary_user() -> None:
    """The lists of processes are readable where the supervisor is an ordinary user."""
    found = ordinary.called("tests.sandbox.test_hoards:as_this_user")

    assert found == {name: ["limit", ["memory"]] for name in COUNTED}


COUNTED = ("waiting_connections", "shared_memory_of_which_a_page_is_left", "hidden")
HIDDEN = """
import ctypes, time
libc = ctypes.CDLL(None)
assert libc.prctl(4, 0, 0, 0, 0) == 0
libc.mmap.restype = ctypes.c_void_p
for _ in range(2000):
    place = libc.mmap(None, ctypes.c_size_t(1 << 20), 3, 0x21, -1, 0)
    ctypes.memset(place, 1, 1 << 20)
    libc.munmap(ctypes.c_void_p(place + 4096), ctypes.c_size_t((1 << 20) - 4096))
time.sleep(60)
"""
"""The same hoard in a process that no other process may inspect."""


def as_this_user() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Run hoards in this process; called as an ordinary user."""
    assert os.geteuid() != 0
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    box, keep = made(), Path("/nonexistent")
    for name in COUNTED[:-1]:
        outcome, _ = asyncio.run(run_hoard(box, name, keep))
        found[name] = (outcome.verdict, outcome.limits_hit)
    hidden = Program(files=(InputFile(name="main.py", text=HIDDEN),), entry="main.py", limits=LIMITS)
    outcome = asyncio.run(box.run(hidden, keep))
    found["hidden"] = (outcome.verdict, outcome.limits_hit)
    return found


HONEST = """
import asyncio, mmap, multiprocessing, os, signal, socket, subprocess, sys, tempfile, threading
from multiprocessing import shared_memory

def square(number):
    return number * number

async def talk():
    async def answer(reader, writer):
        writer.write(await reader.readline())
        writer.close()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    pairs = [await asyncio.open_connection(*server.sockets[0].getsockname()) for _ in range(40)]
    for _, writer in pairs:
        writer.write(b"hello\\n")
    assert [await reader.read() for reader, _ in pairs] == [b"hello\\n"] * 40
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=-1)
    assert (await process.communicate())[0] == b"1\\n"
    server.close()

def main():
    asyncio.run(talk())
    with multiprocessing.Pool(6) as pool:
        assert pool.map(square, range(50)) == [number * number for number in range(50)]
    with multiprocessing.get_context("forkserver").Pool(2) as pool:
        assert pool.map(square, [3, 4]) == [9, 16]
    with multiprocessing.Manager() as manager:
        shared = manager.dict()
        shared["a"] = 1
        assert dict(shared) == {"a": 1}
    memory = shared_memory.SharedMemory(create=True, size=1 << 20)
    memory.buf[0] = 7
    memory.close()
    memory.unlink()
    value = multiprocessing.Value("i", 0)
    child = multiprocessing.Process(target=lambda: setattr(value, "value", 5))
    child.start(); child.join()
    assert value.value == 5
    anonymous = mmap.mmap(-1, 65536)
    if not os.fork():
        anonymous[0:2] = b"ok"
        os._exit(0)
    os.wait()
    assert anonymous[0:2] == b"ok"
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    started.terminate()
    assert started.wait() == -signal.SIGTERM
    threads = [threading.Thread(target=square, args=(number,)) for number in range(40)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(500):
            open(f"{folder}/{number}", "w").close()
    one, other = socket.socketpair()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    os.nice(1)
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    with open("/dev/zero", "rb") as zeros:
        assert zeros.read(3) == bytes(3)
    print("fine")

if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    main()
"""


async def test_honest_programs_have_what_they_need(box: ContainedSandbox, tmp_path: Path) -> None:
    """Event loops, pools, managers, shared memory, threads, signals to children and files work within the limits."""
    program = Program(
        files=(InputFile(name="main.py", text=HONEST),), entry="main.py", limits=SandboxLimits(wall_seconds=60)
    )

    outcome = await box.run(program, tmp_path)

    assert (outcome.verdict, outcome.stdout) == ("passed", "fine\n"), outcome


async def test_a_sandbox_ends_before_its_host_runs_short(
    box: ContainedSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the host's reserve a running program ends with the verdict `error`, and none is started."""
    began = time.monotonic()
    monkeypatch.setattr("tenure.sandbox.supervisor.get_host_reserve_mib", lambda: 1 << 40)
    program = Program(
        files=(InputFile(name="main.py", text="import time; time.sleep(60)"),),
        entry="main.py",
        limits=SandboxLimits(wall_seconds=60),
    )

    outcome = await box.run(program, tmp_path)

    assert (outcome.verdict, outcome.limits_hit) == ("error", ("host-memory",))
    assert outcome.reason == "ended because this machine was short of memory"
    assert time.monotonic() - began < 50
    monkeypatch.setattr("tenure.sandbox.bubblewrap.get_host_reserve_mib", lambda: 1 << 40)
    with pytest.raises(SetupFailed, match="MiB of memory left"):
        await box.run(program, tmp_path)
