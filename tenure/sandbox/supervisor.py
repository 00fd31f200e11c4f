"""Supervise one sandbox from outside: send input, read output, enforce limits, end it and clean up.

The started process runs the driver inside the sandbox, whatever back-end isolates it. Only frames of the driver are
read. They are bounded here again: a program that took over the driver could send anything, but only bytes.
"""

import hashlib
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from tenure.algorithms.text.printable import escape_control_characters
from tenure.contracts.sandbox import Artifact, SandboxLimits
from tenure.sandbox.base import SetupFailed
from tenure.sandbox.groups import RunGroup, was_killed
from tenure.sandbox.memory import MemoryUse, get_host_reserve_mib, read_available_mib
from tenure.sandbox.output import BoundedOutput

SETUP_TIMEOUT_SECONDS: Final = 30.0
"""Time for setting up a sandbox, on a busy machine."""
GRACE_SECONDS: Final = 5.0
"""Time for the driver to end and to send artifacts after the program's time is over."""
MEMORY_POLL_SECONDS: Final = 0.02
"""Interval between two measurements of memory if it is polled."""
MAX_REPORT_BYTES: Final = 16 << 20
"""Maximum size of a report."""
MAX_FRAME_BYTES: Final = 1 << 20
"""Maximum size of a frame; the driver's frames are smaller."""


class StartedSandbox(Protocol):
    """Interface of a started sandbox."""

    process: subprocess.Popen[bytes]
    """Process on this side; its standard input and output lead, unbuffered, to the driver."""

    def mark_ready(self) -> None:
        """Register that the driver runs and waits."""

    def kill(self) -> None:
        """Kill everything in the sandbox."""

    def measure_memory(self, limit_mib: int) -> MemoryUse | None:
        """Return the memory in use, exact above a limit; None if the back-end itself limits it."""

    def close(self) -> None:
        """Release resources after everything has ended."""


@dataclass
class UnitResult:
    """Output and end of one unit of a job."""

    stdout: BoundedOutput
    stderr: BoundedOutput
    report: bytearray = field(default_factory=bytearray)
    status: int | None = None
    """Wait status, or None if the unit was killed."""
    seconds: float = 0.0
    memory_mib: float = 0.0
    limits: list[str] = field(default_factory=list)


@dataclass
class Observed:
    """Observations of a whole sandbox."""

    units: list[UnitResult] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    finished: bool = False
    """Whether the driver finished."""
    interrupted: bool = False
    """Whether the driver ended before it finished, although no limit was reached and no stop was requested."""
    peak_mib: float = 0.0
    seconds: float = 0.0


class Supervision:
    """Supervision of one sandbox, from its start to its removal."""

    def __init__(
        self,
        limits: SandboxLimits,
        job: bytes,
        keep: Path | None,
        goes_on: Callable[[UnitResult], bool],
        control: RunGroup | None,
    ) -> None:
        self._limits = limits
        self._job = job
        self._goes_on = goes_on
        self._control = control
        self._store = ArtifactStore(keep, limits) if keep is not None else None
        self._stop = threading.Event()
        self._seen = Observed()
        self._outgoing = b""
        self._incoming = bytearray()
        self._complaint = BoundedOutput(4096)
        self._hello = False
        self._look = 0.0
        self._reserve_mib = get_host_reserve_mib()

    def stop(self) -> None:
        """Request the end of the run; callable from any thread."""
        self._stop.set()

    def run(self, start: Callable[[], StartedSandbox]) -> Observed:
        """Start a sandbox and return the observations after it was removed.

        Raises:
            SetupFailed: it did not start.
        """
        began = time.monotonic()
        started = start()
        try:
            self._follow(started, began)
        finally:
            started.kill()
            try:
                started.process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:  # a stopped process does not notice the end of the others
                started.process.kill()
                started.process.wait()
            for stream in (started.process.stdin, started.process.stdout, started.process.stderr):
                if stream is not None:
                    stream.close()
            started.close()
            if self._store is not None:
                self._store.discard_unfinished()
        if not self._hello:
            raise SetupFailed(self._complaint.text.strip() or "the sandbox ended before it began")
        self._seen.seconds = time.monotonic() - began
        if self._store is not None:
            self._seen.artifacts = self._store.kept
        self._account()
        self._seen.interrupted = not (self._seen.finished or self._seen.limits or self._stop.is_set())
        return self._seen

    def _account(self) -> None:
        """Add the measurements of the control group."""
        if self._control is None:
            return
        # Asking can take longer than a run, so only a run in which something was killed asks.
        killed = not self._seen.finished or any(was_killed(unit.status) for unit in self._seen.units)
        if killed and self._control.has_exceeded_limit:
            self._note("memory")

    def _follow(self, started: StartedSandbox, began: float) -> None:
        """Read and write until the driver has ended or must be ended."""
        process = started.process
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        source, sink, complaint = process.stdout.fileno(), process.stdin.fileno(), process.stderr.fileno()
        os.set_blocking(sink, False)
        poll = select.poll()
        poll.register(source, select.POLLIN)
        poll.register(complaint, select.POLLIN)
        poll.register(sink, 0)
        deadline = began + SETUP_TIMEOUT_SECONDS
        fed = False
        while True:
            for ready, _ in poll.poll(MEMORY_POLL_SECONDS * 1000):
                if ready == sink:
                    self._write(sink)
                elif not (piece := os.read(ready, 1 << 18)):
                    poll.unregister(ready)
                    if ready == source:
                        return
                elif ready == complaint:
                    self._complaint.add(piece)
                else:
                    self._parse_frames(piece)
            now = time.monotonic()
            if self._hello and not fed:
                fed = True
                started.mark_ready()
                self._outgoing = len(self._job).to_bytes(8, "big") + self._job
                deadline = now + self._limits.wall_seconds + GRACE_SECONDS
            poll.modify(sink, select.POLLOUT if self._outgoing else 0)
            if self._must_end(started, now > deadline):
                return

    def _must_end(self, started: StartedSandbox, late: bool) -> bool:
        """Return whether the run must be ended from this side."""
        # The driver sends no frame after this one.
        if late or self._stop.is_set() or len(self._incoming) > 2 * MAX_FRAME_BYTES:
            self._note("wall")
            return True
        now = time.monotonic()
        if not self._hello or now < self._look:
            return False
        limit = self._find_exceeded_memory(started)
        # Many processes take long to measure, and run only between two measurements.
        self._look = now + max(MEMORY_POLL_SECONDS, 2 * (time.monotonic() - now))
        if limit is not None:
            self._note(limit)
            return True
        return False

    def _find_exceeded_memory(self, started: StartedSandbox) -> str | None:
        """Return the limit of memory that is exceeded, of the program or of the host."""
        used = started.measure_memory(self._limits.memory_mib)
        if used is None:
            return None
        self._seen.peak_mib = max(self._seen.peak_mib, used.programs)
        if max(used) > self._limits.memory_mib:
            return "memory"
        return "host-memory" if read_available_mib() < self._reserve_mib else None

    def _note(self, limit: str) -> None:
        if limit not in self._seen.limits:
            self._seen.limits.append(limit)

    def _write(self, sink: int) -> None:
        """Write pending input as far as the pipe accepts it."""
        try:
            self._outgoing = self._outgoing[os.write(sink, self._outgoing[: 1 << 16]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._outgoing = b""

    def _parse_frames(self, piece: bytes) -> None:
        self._incoming += piece
        while len(self._incoming) >= 5:
            size = int.from_bytes(self._incoming[1:5], "big")
            if size > MAX_FRAME_BYTES or len(self._incoming) < 5 + size:
                return
            kind, payload = chr(self._incoming[0]), bytes(self._incoming[5 : 5 + size])
            del self._incoming[: 5 + size]
            self._handle_frame(kind, payload)

    def _handle_frame(self, kind: str, payload: bytes) -> None:
        units = self._seen.units
        if kind == "H":
            self._hello = True
        elif kind == "U":
            room = self._limits.output_kib * 1024
            units.append(UnitResult(BoundedOutput(room), BoundedOutput(room)))
        elif kind == "F":
            self._seen.finished = True
        elif kind in "ADZ" and self._store is not None:
            if not self._store.write_frame(kind, payload):
                self._note("artifacts")
        elif units:
            self._handle_unit_frame(units[-1], kind, payload)

    def _handle_unit_frame(self, unit: UnitResult, kind: str, payload: bytes) -> None:
        if kind == "O":
            unit.stdout.add(payload)
        elif kind == "E":
            unit.stderr.add(payload)
        elif kind == "R":
            unit.report += payload[: MAX_REPORT_BYTES - len(unit.report)]
        elif kind == "L":
            unit.limits.append(escape_control_characters(payload.decode(errors="replace"))[:20])
        elif kind == "X":
            status, memory, seconds = payload.split()
            unit.status, unit.memory_mib, unit.seconds = int(status), int(memory) / 1024, float(seconds)
            self._outgoing += b"g" if self._goes_on(unit) else b"s"


class ArtifactStore:
    """Store for artifacts under safe names, within their limits."""

    def __init__(self, folder: Path, limits: SandboxLimits) -> None:
        self._folder = folder
        self._count = limits.artifacts
        self._room = limits.artifact_mib << 20
        self._open: tuple[str, Path, hashlib._Hash, int] | None = None
        self.kept: list[Artifact] = []

    def write_frame(self, kind: str, payload: bytes) -> bool:
        """Write one frame of an artifact; return False if it exceeds a limit."""
        if kind == "A":
            return self._begin(payload)
        if self._open is None:
            return False
        name, path, digest, size = self._open
        if kind == "Z":
            self.kept.append(Artifact(name=name, bytes=size, sha256=digest.hexdigest(), path=str(path)))
            self._open = None
            return True
        if len(payload) > self._room:
            self.discard_unfinished()
            return False
        self._room -= len(payload)
        with path.open("ab") as target:
            target.write(payload)
        digest.update(payload)
        self._open = (name, path, digest, size + len(payload))
        return True

    def _begin(self, name: bytes) -> bool:
        """Open a file for an artifact."""
        self.discard_unfinished()
        if len(self.kept) >= self._count:
            return False
        shown = (
            escape_control_characters(name.decode(errors="backslashreplace"))
            .replace("\n", "\\x0a")
            .replace("\t", "\\x09")
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{len(self.kept) + 1:03}-{make_safe_name(shown)}"
        path.write_bytes(b"")
        self._open = (shown, path.absolute(), hashlib.sha256(), 0)
        return True

    def discard_unfinished(self) -> None:
        """Remove an incomplete artifact."""
        if self._open is not None:
            self._open[1].unlink(missing_ok=True)
            self._open = None


def make_safe_name(shown: str) -> str:
    """Return a name that is safe as part of a file name on any system."""
    last = shown.rsplit("/", 1)[-1]
    kept = "".join(one if one.isascii() and (one.isalnum() or one in "._-") else "_" for one in last)
    return kept.lstrip("._-")[-80:] or "file"


def get_signal_name(status: int) -> str | None:
    """Return the name of the signal that ended a process, by its wait status."""
    if not os.WIFSIGNALED(status):
        return None
    number = os.WTERMSIG(status)
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
