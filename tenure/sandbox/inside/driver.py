"""Run as process 1 of a sandbox: start the program, enforce limits, end it, and send its output and artifacts.

It is the only process with a connection to the supervisor, its standard input and output. It is not dumpable, cannot be
killed from inside (process 1), and its children inherit none of its files. A job arrives as one block of `marshal`,
which is built in while json would take milliseconds; frames with a kind, a length and bytes are sent. Modules that a
small program does not need are not imported.
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
    from collections.abc import Callable, Iterator
    from typing import Any, Final, NoReturn

WORK: Final = "/box/work"
"""Working folder of a program."""
REPORTS: Final = "/box/out"
"""Folder for files that a command leaves for the supervisor."""
REPORT_DESCRIPTOR: Final = 198
"""Descriptor on which programs of the sandbox report the tests of a project; far above those that shells use."""
MAX_OUTPUT_BYTES: Final = 32 << 20
"""Size of output after which a program is ended."""
MIB: Final = 1 << 20
MAX_DEPTH: Final = 16
"""Maximum depth of folders searched for artifacts."""
REAP_INTERVAL_MS: Final = 50
"""Maximum time in milliseconds until ended orphans are reaped, and files are counted."""
SCRATCH: Final = ("/box", "/tmp", "/dev/shm")
"""File systems in memory that a program can write."""
BYTES_PER_FILE: Final = 4096
"""Size of the working folder for which a program may have one file: the kernel keeps up to 2 KiB for a name."""
MAX_ENTRIES: Final = 4000
"""Maximum number of folder entries searched for artifacts."""

MAX_PENDING_SIGNALS: Final = 1024
"""Maximum number of timers and queued signals of all processes."""

SIGKILL: Final = 9
"""Number of the signal; importing `signal` or `types` takes as long as this whole file."""

if TYPE_CHECKING:
    Job = dict[str, Any]


def send_frame(kind: bytes, payload: bytes = b"") -> None:
    """Send one frame to the supervisor."""
    block = kind + len(payload).to_bytes(4, "big") + payload
    while block:
        block = block[os.write(1, block) :]


def read_exactly(count: int) -> bytes:
    """Read the given number of bytes from the supervisor."""
    found = b""
    while len(found) < count:
        piece = os.read(0, min(count - len(found), MIB))
        if not piece:
            raise SystemExit("the supervisor is gone")
        found += piece
    return found


def protect_process() -> None:
    """Prevent other processes from inspecting this one and its forks, until they execute another program.

    Large pages are switched off for all of them: a small part that remains of a large page keeps all of it.
    """
    # The core of ctypes, without ctypes itself.
    import _ctypes

    class Int(_ctypes._SimpleCData):  # type: ignore[type-arg]
        _type_ = "i"

    class Function(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL
        _restype_ = Int

    set_dumpable, set_name, disable_large_pages = 4, 15, 41
    program = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
    prctl = Function(_ctypes.dlsym(program, "prctl"))
    prctl(set_name, b"python3", 0, 0, 0)
    if prctl(set_dumpable, 0, 0, 0, 0) or prctl(disable_large_pages, 1, 0, 0, 0):
        raise SystemExit("the driver cannot be hidden")
    # Python handles this signal; a signal that process 1 does not handle never reaches it from inside.
    __import__("_signal").signal(2, 0)


def write_files(folder: str, files: list[tuple[str, bytes]]) -> dict[bytes, tuple[int, int]]:
    """Write files into a folder; return a mark per name that shows later whether the file was changed."""
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


def set_limits(limits: dict[str, int]) -> None:
    """Set the resource limits of this process and its children."""
    bounds = {
        resource.RLIMIT_NPROC: limits["processes"],
        resource.RLIMIT_FSIZE: limits["file_mib"] * MIB,
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_CPU: limits["cpu_seconds"],
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_STACK: 8 * MIB,
        # Timers and queued signals, which are kernel memory.
        getattr(resource, "RLIMIT_SIGPENDING", 11): MAX_PENDING_SIGNALS,
    }
    if limits["address_mib"]:
        bounds[resource.RLIMIT_AS] = limits["address_mib"] * MIB
    for which, bound in bounds.items():
        hard = bound + 1 if which == resource.RLIMIT_CPU else bound
        resource.setrlimit(which, (bound, hard))
    # Not in every build of Python: POSIX message queues are memory that no other limit covers.
    msgqueue = getattr(resource, "RLIMIT_MSGQUEUE", 12)
    resource.setrlimit(msgqueue, (0, 0))


def open_input(text: bytes) -> int:
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
    """Running process with its pipes and its share of the limits."""

    def __init__(self, job: Job, unit: Job) -> None:
        self.output = 0
        self.hit: list[bytes] = []
        self.readers: dict[int, bytes] = {}
        self.max_files = max(1024, job["limits"]["scratch_mib"] * MIB // BYTES_PER_FILE)
        self.is_overgrown: Callable[[], bool] = lambda: False
        if job.get("folders"):
            sys.path[:0] = ["/in"]
            from tenure.sandbox.inside.folder_watch import FolderWatch

            self.is_overgrown = FolderWatch(job["folders"]).is_overgrown
        writers = []
        for kind in (b"O", b"E", b"R"):
            reader, writer = os.pipe()
            self.readers[reader] = kind
            writers.append(writer)
        self.pid = os.fork()
        if not self.pid:
            replace_process(job, unit, writers)
        for writer in writers:
            os.close(writer)
        self.alive = os.pidfd_open(self.pid)

    def relay(self, deadline: float) -> tuple[int, int]:
        """Forward the output of the process until it ends; return its wait status and its peak memory in KiB."""
        poll = select.poll()
        poll.register(self.alive, select.POLLIN)
        for reader in self.readers:
            poll.register(reader, select.POLLIN)
        ended: tuple[int, int] | None = None
        while ended is None:
            left = deadline - time.monotonic()
            if left <= 0:
                self._end(b"wall")
            if count_files() > self.max_files:
                self._end(b"files")
            if self.is_overgrown():
                self._end(b"folder")
            self._pass_on(poll, min(max(1, int(left * 1000) + 1), REAP_INTERVAL_MS))
            ended = self._reap()
        kill_all()
        poll.unregister(self.alive)
        os.close(self.alive)
        while self.readers:
            self._pass_on(poll, REAP_INTERVAL_MS)
        return ended

    def _pass_on(self, poll: select.poll, milliseconds: int) -> None:
        """Forward available output."""
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
            if self.output <= MAX_OUTPUT_BYTES:
                send_frame(self.readers[reader], piece)
            else:
                self._end(b"output")

    def _end(self, why: bytes) -> None:
        """End the process, and everything else that runs here."""
        if why not in self.hit:
            self.hit.append(why)
        kill_all()

    def _reap(self) -> tuple[int, int] | None:
        """Return the end of the process once it has ended; reap ended orphans."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return (0, 0)
            if pid == 0:
                return None
            if pid == self.pid:
                return (status, usage.ru_maxrss)


def count_files() -> int:
    """Return the number of files, folders and links that a program can have created."""
    return sum(facts.f_files - facts.f_ffree for facts in map(os.statvfs, SCRATCH))


def kill_all() -> None:
    """Kill every process except this one."""
    try:
        os.kill(-1, SIGKILL)
    except ProcessLookupError:
        return


def replace_process(job: Job, unit: Job, writers: list[int]) -> NoReturn:
    """Execute the program in this fork; never return."""
    try:
        os.setsid()
        os.dup2(open_input(unit.get("stdin", b"")), 0)
        os.dup2(writers[0], 1)
        os.dup2(writers[1], 2)
        report = writers[2]
        os.chdir(job.get("folder", WORK))
        set_limits(job["limits"])
        sys.path[:0] = ["/in"]
        if job["filter"]:
            from tenure.sandbox.inside import guard

            guard.load_filter(job["filter"])
        if job["kind"] == "program":
            kept = unit.get("has_report", False)
            if kept:
                os.dup2(report, REPORT_DESCRIPTOR)
            os.closerange(3, REPORT_DESCRIPTOR)
            os.closerange(REPORT_DESCRIPTOR + kept, 4096)
            # Python ignores it, and a started program would inherit that.
            __import__("_signal").signal(13, 0)
            os.execve(unit["argv"][0], unit["argv"], {**os.environ, **unit.get("variables", {})})
        if job["kind"] == "tests":
            from tenure.sandbox.inside import pytest_runner as runner
        else:
            from tenure.sandbox.inside import case_runner as runner  # type: ignore[no-redef]
        code = runner.main(job | split_files(unit["files"]), report)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    except BaseException as error:
        os.write(2, f"the sandbox could not run this: {type(error).__name__}: {error}\n".encode(errors="replace"))
        os._exit(125)


def split_files(files: list[tuple[str, bytes]]) -> Job:
    """Return the sources of a program's modules, and the names of its other files."""
    sources = {name: content.decode("utf-8-sig", "replace") for name, content in files if name.endswith(".py")}
    return {"program": sources, "data": [name for name, _ in files if name not in sources]}


def iterate_artifacts(top: str, marks: dict[bytes, tuple[int, int]]) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, descriptor and size of the regular files that were created or changed, following no link."""
    seen = 0
    waiting: list[tuple[bytes, int, int]] = [(b"", os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW), 0)]
    while waiting:
        prefix, folder, depth = waiting.pop()
        try:
            names = sorted(os.fsencode(entry.name) for entry in os.scandir(folder))
        except OSError:
            names = []
        for name in names:
            seen += 1
            if seen > MAX_ENTRIES:
                raise LookupError
            found = open_entry(folder, name)
            if found is None:
                continue
            facts = os.fstat(found)
            whole = prefix + name
            if stat.S_ISDIR(facts.st_mode) and depth < MAX_DEPTH and name != b"__pycache__":
                waiting.append((whole + b"/", found, depth + 1))
                continue
            fresh = marks.get(whole) != (facts.st_mtime_ns, facts.st_size)
            if stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1 and fresh:
                yield whole, found, facts.st_size
            os.close(found)
        os.close(folder)


def open_entry(folder: int, name: bytes) -> int | None:
    """Open a folder entry unless it is a link or cannot be read."""
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None


def send_artifacts(job: Job, marks: dict[bytes, tuple[int, int]]) -> None:
    """Send the created files, as far as their number and size allow."""
    count, room = job["limits"]["artifacts"], job["limits"]["artifact_mib"] * MIB
    try:
        for name, descriptor, size in iterate_artifacts(job.get("kept", WORK), marks):
            if count == 0 or size > room:
                send_frame(b"L", b"artifacts")
                continue
            count -= 1
            send_frame(b"A", name)
            while piece := os.read(descriptor, min(65536, room)):
                room -= len(piece)
                send_frame(b"D", piece)
            send_frame(b"Z")
    except LookupError:
        send_frame(b"L", b"artifacts")


def list_scratch() -> set[str]:
    """Return the entries of all folders that a program can write into."""
    return {f"{folder}/{name}" for folder in SCRATCH for name in os.listdir(folder)}


def clear_scratch(own: set[str]) -> bool:
    """Remove what earlier programs have left, except for own entries, and return whether that succeeded."""
    import shutil

    for path in list_scratch() - own:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    return list_scratch() <= own


def run_unit(job: Job, unit: Job, deadline: float) -> tuple[int, dict[bytes, tuple[int, int]]]:
    """Run one unit and report its end; return its wait status and the marks of its files."""
    for folder in (WORK, REPORTS, "/box/tmp", "/box/home"):
        os.makedirs(folder, exist_ok=True)
    if job.get("has_network"):
        start_relay(job)
    write_files("/box/home", job["home"])
    marks = write_files(WORK, unit["files"])
    began = time.monotonic()
    each = unit.get("seconds") or job["limits"]["wall_seconds"]
    child = Child(job, unit)
    status, memory = child.relay(min(deadline, began + each))
    for which in child.hit:
        send_frame(b"L", which)
    send_frame(b"X", f"{status} {memory} {time.monotonic() - began:.4f}".encode())
    return status, marks


def start_relay(job: Job) -> None:
    """Start the process that connects programs to the proxy of the supervisor, and wait until it listens."""
    reader, writer = os.pipe()
    if not os.fork():
        sys.path[:0] = ["/in"]
        if job["filter"]:
            from tenure.sandbox.inside import guard

            guard.load_filter(job["filter"])
        from tenure.sandbox.inside import relay

        os.dup2(os.open("/dev/null", os.O_RDWR), 0)
        os.dup2(0, 1)
        relay.main(writer)
        os._exit(1)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)


def warm_up(kind: str) -> None:
    """Import the modules that every fork of this process needs."""
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
    send_frame(b"H")
    job: Job = marshal.loads(read_exactly(int.from_bytes(read_exactly(8), "big")))
    protect_process()
    if len(job["units"]) > 1:
        warm_up(job["kind"])
    deadline = time.monotonic() + job["limits"]["wall_seconds"]
    marks: dict[bytes, tuple[int, int]] = {}
    own = list_scratch()
    for number, unit in enumerate(job["units"]):
        # A remaining file could be a trap for the next program.
        if (number and not clear_scratch(own)) or time.monotonic() > deadline:
            break
        send_frame(b"U", str(number).encode())
        _, marks = run_unit(job, unit, deadline)
        if read_exactly(1) == b"s":
            break
    if job["artifacts"]:
        send_artifacts(job, marks)
    send_frame(b"F")


if __name__ == "__main__":
    main()
