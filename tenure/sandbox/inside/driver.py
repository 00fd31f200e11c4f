"""Process 1 of a sandbox: starts what is to run, bounds it, ends it, and hands out what came of it.

It is the only process with a way to the supervisor, its standard input and output, and it keeps that way to itself:
nobody may look into it (not dumpable), nobody inside can kill it (process 1), and what it starts inherits none of
its files. A job comes in as one block of `marshal`, which is built in where json would cost milliseconds; frames go
out, of a kind, a length and bytes. Nothing here is imported that a program of a few lines can do without.
"""

from __future__ import annotations

import marshal
import os
import resource
import select
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final, NoReturn

WORK: Final = "/box/work"
"""Working folder of a program."""
FLOOD: Final = 32 << 20
"""Bytes of output after which a program is ended."""
MIB: Final = 1 << 20
DEEPEST: Final = 16
"""Folders below each other that are searched for artifacts."""
REAPING: Final = 200
"""Milliseconds after which ended orphans are forgotten, at the latest."""
MOST_ENTRIES: Final = 4000
"""Entries of folders that are looked at for artifacts."""

SIGKILL: Final = 9
"""The module of signals is left out, like that of types: each costs as much as this whole file."""

if TYPE_CHECKING:
    Job = dict[str, Any]


def frame(kind: bytes, payload: bytes = b"") -> None:
    """Send one frame to the supervisor."""
    block = kind + len(payload).to_bytes(4, "big") + payload
    while block:
        block = block[os.write(1, block) :]


def read_exactly(count: int) -> bytes:
    """Read so many bytes from the supervisor."""
    found = b""
    while len(found) < count:
        piece = os.read(0, min(count - len(found), MIB))
        if not piece:
            raise SystemExit("the supervisor is gone")
        found += piece
    return found


def hide() -> None:
    """Let no other process look into this one or into what it forks, until it runs another program."""
    # What ctypes is made of, without ctypes itself.
    import _ctypes

    class Int(_ctypes._SimpleCData):  # type: ignore[type-arg]
        _type_ = "i"

    class Function(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL
        _restype_ = Int

    set_dumpable, set_name = 4, 15
    program = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
    prctl = Function(_ctypes.dlsym(program, "prctl"))
    prctl(set_name, b"python3", 0, 0, 0)
    if prctl(set_dumpable, 0, 0, 0, 0):
        raise SystemExit("the driver cannot be hidden")


def place(folder: str, files: list[tuple[str, bytes]]) -> dict[bytes, tuple[int, int]]:
    """Write files into a folder; return by name what tells later whether one was changed."""
    marks = {}
    for name, content in files:
        path = f"{folder}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb", buffering=0) as target:
            rest = memoryview(content)
            while rest:
                rest = rest[target.write(rest) :]
        found = os.stat(path)
        marks[os.fsencode(name)] = (found.st_mtime_ns, found.st_size)
    return marks


def limit(limits: dict[str, int]) -> None:
    """Bound this process and whatever it starts."""
    bounds = {
        resource.RLIMIT_NPROC: limits["processes"],
        resource.RLIMIT_FSIZE: limits["file_mib"] * MIB,
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_CPU: limits["cpu_seconds"],
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_STACK: 8 * MIB,
    }
    if limits["address_mib"]:
        bounds[resource.RLIMIT_AS] = limits["address_mib"] * MIB
    for which, bound in bounds.items():
        hard = bound + 1 if which == resource.RLIMIT_CPU else bound
        resource.setrlimit(which, (bound, hard))
    # Not in every build of Python: POSIX message queues are memory that nothing else counts.
    msgqueue = getattr(resource, "RLIMIT_MSGQUEUE", 12)
    resource.setrlimit(msgqueue, (0, 0))


def input_file(text: bytes) -> int:
    """Return a file to read standard input from."""
    if not text:
        return os.open("/dev/null", os.O_RDONLY)
    path = "/box/.stdin"
    with open(path, "wb") as target:
        target.write(text)
    found = os.open(path, os.O_RDONLY)
    os.unlink(path)
    return found


class Child:
    """A process under way, with its pipes and its share of the limits."""

    def __init__(self, job: Job, unit: Job) -> None:
        self.output = 0
        self.hit: list[bytes] = []
        self.readers: dict[int, bytes] = {}
        writers = []
        for kind in (b"O", b"E", b"R"):
            reader, writer = os.pipe()
            self.readers[reader] = kind
            writers.append(writer)
        self.pid = os.fork()
        if not self.pid:
            become(job, unit, writers)
        for writer in writers:
            os.close(writer)
        self.alive = os.pidfd_open(self.pid)

    def relay(self, deadline: float) -> tuple[int, int]:
        """Hand out what the process says until it ends; return its wait status and its largest memory in KiB."""
        poll = select.poll()
        poll.register(self.alive, select.POLLIN)
        for reader in self.readers:
            poll.register(reader, select.POLLIN)
        ended: tuple[int, int] | None = None
        while ended is None:
            left = deadline - time.monotonic()
            if left <= 0:
                self._end(b"wall")
            self._pass_on(poll, min(max(1, int(left * 1000) + 1), REAPING))
            ended = self._reap()
        kill_all()
        poll.unregister(self.alive)
        os.close(self.alive)
        while self.readers:
            self._pass_on(poll, REAPING)
        return ended

    def _pass_on(self, poll: select.poll, milliseconds: int) -> None:
        """Hand out what is there to read."""
        for reader, _ in poll.poll(milliseconds):
            if reader == self.alive:
                continue
            piece = os.read(reader, 65536)
            if not piece:
                poll.unregister(reader)
                os.close(reader)
                del self.readers[reader]
                continue
            self.output += len(piece)
            if self.output <= FLOOD:
                frame(self.readers[reader], piece)
            else:
                self._end(b"output")

    def _end(self, why: bytes) -> None:
        """End the process, and everything else that runs here."""
        if why not in self.hit:
            self.hit.append(why)
        kill_all()

    def _reap(self) -> tuple[int, int] | None:
        """Return how the process ended, once it has; orphans that ended are forgotten."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return (0, 0)
            if pid == 0:
                return None
            if pid == self.pid:
                return (status, usage.ru_maxrss)


def kill_all() -> None:
    """Kill every process but this one."""
    try:
        os.kill(-1, SIGKILL)
    except ProcessLookupError:
        return


def become(job: Job, unit: Job, writers: list[int]) -> NoReturn:
    """Turn this fork into what is to run; never return."""
    try:
        os.setsid()
        os.dup2(input_file(unit.get("stdin", b"")), 0)
        os.dup2(writers[0], 1)
        os.dup2(writers[1], 2)
        report = writers[2]
        os.chdir(WORK)
        limit(job["limits"])
        if job["kind"] == "program":
            os.closerange(3, 4096)
            # Python ignores it, and what is started would inherit that.
            __import__("_signal").signal(13, 0)
            os.execve(unit["argv"][0], unit["argv"], os.environ)
        sys.path[:0] = ["/in"]
        if job["kind"] == "tests":
            from tenure.sandbox.inside import pytest_runner as runner
        else:
            from tenure.sandbox.inside import case_runner as runner  # type: ignore[no-redef]
        code = runner.main(job, report)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    except BaseException as error:
        os.write(2, f"the sandbox could not run this: {type(error).__name__}: {error}\n".encode(errors="replace"))
        os._exit(125)


def made(marks: dict[bytes, tuple[int, int]]) -> Iterator[tuple[bytes, int, int]]:
    """Give name, descriptor and size of the regular files that were made or changed, following no link."""
    seen = 0
    waiting: list[tuple[bytes, int, int]] = [(b"", os.open(WORK, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW), 0)]
    while waiting:
        prefix, folder, depth = waiting.pop()
        try:
            names = sorted(os.fsencode(entry.name) for entry in os.scandir(folder))
        except OSError:
            names = []
        for name in names:
            seen += 1
            if seen > MOST_ENTRIES:
                raise LookupError
            found = opened(folder, name)
            if found is None:
                continue
            facts = os.fstat(found)
            whole = prefix + name
            if stat.S_ISDIR(facts.st_mode) and depth < DEEPEST and name != b"__pycache__":
                waiting.append((whole + b"/", found, depth + 1))
                continue
            fresh = marks.get(whole) != (facts.st_mtime_ns, facts.st_size)
            if stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1 and fresh:
                yield whole, found, facts.st_size
            os.close(found)
        os.close(folder)


def opened(folder: int, name: bytes) -> int | None:
    """Open an entry of a folder unless it is a link or cannot be read."""
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None


def hand_out(job: Job, marks: dict[bytes, tuple[int, int]]) -> None:
    """Send the files that were made, as far as their number and size allow."""
    count, room = job["limits"]["artifacts"], job["limits"]["artifact_mib"] * MIB
    try:
        for name, descriptor, size in made(marks):
            if count == 0 or size > room:
                frame(b"L", b"artifacts")
                continue
            count -= 1
            frame(b"A", name)
            while piece := os.read(descriptor, min(65536, room)):
                room -= len(piece)
                frame(b"D", piece)
            frame(b"Z")
    except LookupError:
        frame(b"L", b"artifacts")


def wipe(path: str) -> None:
    """Remove a folder with whatever is in it, however deep."""
    import shutil

    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        os.rename(path, f"/box/.old{time.monotonic_ns()}")


def run_unit(job: Job, unit: Job, deadline: float) -> tuple[int, dict[bytes, tuple[int, int]]]:
    """Run one unit and tell how it ended; return its wait status and the marks of its files."""
    for folder in (WORK, "/box/tmp", "/box/home"):
        os.makedirs(folder, exist_ok=True)
    place("/box/home", job["home"])
    marks = place(WORK, unit["files"])
    began = time.monotonic()
    each = unit.get("seconds") or job["limits"]["wall_seconds"]
    child = Child(job, unit)
    status, memory = child.relay(min(deadline, began + each))
    for which in child.hit:
        frame(b"L", which)
    frame(b"X", f"{status} {memory} {time.monotonic() - began:.4f}".encode())
    return status, marks


def warm_up(kind: str) -> None:
    """Import once what every fork of this process is going to need."""
    sys.path[:0] = ["/in"]
    if kind == "tests":
        from tenure.sandbox.inside import pytest_runner

        pytest_runner.warm_up()
    else:
        from tenure.sandbox.inside import case_runner  # noqa: F401


def main() -> None:
    """Run the job that the supervisor sends."""
    if os.getpid() != 1:
        # It ends by killing every process that it can see.
        raise SystemExit("the driver only runs as process 1 of a sandbox")
    os.closerange(3, 4096)
    frame(b"H")
    job: Job = marshal.loads(read_exactly(int.from_bytes(read_exactly(8), "big")))
    hide()
    if len(job["units"]) > 1:
        warm_up(job["kind"])
    deadline = time.monotonic() + job["limits"]["wall_seconds"]
    marks: dict[bytes, tuple[int, int]] = {}
    for number, unit in enumerate(job["units"]):
        if number:
            for folder in (WORK, "/box/tmp", "/box/home"):
                wipe(folder)
        if time.monotonic() > deadline:
            break
        frame(b"U", str(number).encode())
        _, marks = run_unit(job, unit, deadline)
        if read_exactly(1) == b"s":
            break
    if job["artifacts"]:
        hand_out(job, marks)
    frame(b"F")


if __name__ == "__main__":
    main()
