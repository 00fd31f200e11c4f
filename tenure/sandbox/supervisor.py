"""Watches one sandbox from the outside: feeds it, reads it, bounds it, ends it, and leaves nothing behind.

The process that is started runs the driver inside the sandbox, whatever back-end makes the sandbox. Frames of the
driver are the only thing that is read. They are bounded here once more: whoever broke the driver could send anything,
and still would have sent only bytes.
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

from tenure.contracts.sandbox import Artifact, SandboxLimits
from tenure.sandbox.base import SetupFailed
from tenure.sandbox.memory import ControlGroup
from tenure.sandbox.output import Kept, harmless

SETUP_SECONDS: Final = 30.0
"""Time for setting up a sandbox, on a machine that has much to do."""
GRACE_SECONDS: Final = 5.0
"""Time for the driver to end and to hand out what there is, once the time of the program is over."""
LOOK_SECONDS: Final = 0.02
"""Time between two looks at the memory, where it is watched."""
MOST_REPORT: Final = 16 << 20
"""Bytes of a report that are read."""
LARGEST_FRAME: Final = 1 << 20
"""Bytes of a frame; the driver's are smaller."""


class Started(Protocol):
    """A sandbox that was started."""

    process: subprocess.Popen[bytes]
    """What runs on this side; its standard input and output lead, unbuffered, to the driver."""

    def begun(self) -> None:
        """Take note that the driver runs and waits."""
        ...

    def kill(self) -> None:
        """End everything in the sandbox."""
        ...

    def watched(self, limit_mib: int) -> float | None:
        """Return the mebibytes in use, exact above a limit; None where the back-end itself bounds them."""
        ...

    def closed(self) -> None:
        """Take away what is left once everything has ended."""
        ...


@dataclass
class Unit:
    """What one unit of a job said and how it ended."""

    stdout: Kept
    stderr: Kept
    report: bytearray = field(default_factory=bytearray)
    status: int | None = None
    """Wait status; None: it never ended by itself."""
    seconds: float = 0.0
    memory_mib: float = 0.0
    limits: list[str] = field(default_factory=list)


@dataclass
class Observed:
    """What was seen of a whole sandbox."""

    units: list[Unit] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    finished: bool = False
    """Whether the driver came to its end."""
    peak_mib: float = 0.0
    seconds: float = 0.0


class Supervision:
    """One sandbox, from its start to the last trace of it."""

    def __init__(
        self,
        limits: SandboxLimits,
        job: bytes,
        keep: Path | None,
        goes_on: Callable[[Unit], bool],
        control: ControlGroup | None,
    ) -> None:
        self._limits = limits
        self._job = job
        self._goes_on = goes_on
        self._control = control
        self._store = Store(keep, limits) if keep is not None else None
        self._stop = threading.Event()
        self._seen = Observed()
        self._outgoing = b""
        self._incoming = bytearray()
        self._complaint = Kept(4096)
        self._hello = False
        self._look = 0.0

    def stop(self) -> None:
        """Have the run ended soon; callable from any thread."""
        self._stop.set()

    def run(self, start: Callable[[], Started]) -> Observed:
        """Start a sandbox and return what was seen of it, when nothing of it is left.

        Raises:
            SetupFailed: it never came up.
        """
        began = time.monotonic()
        started = start()
        try:
            self._follow(started, began)
        finally:
            started.kill()
            started.process.wait()
            for stream in (started.process.stdin, started.process.stdout, started.process.stderr):
                if stream is not None:
                    stream.close()
            started.closed()
            if self._store is not None:
                self._store.end()
        if not self._hello:
            raise SetupFailed(self._complaint.text.strip() or "the sandbox ended before it began")
        self._seen.seconds = time.monotonic() - began
        if self._store is not None:
            self._seen.artifacts = self._store.kept
        self._account()
        return self._seen

    def _account(self) -> None:
        """Add what the control group knows."""
        if self._control is not None and self._control.exceeded:
            self._note("memory")

    def _follow(self, started: Started, began: float) -> None:
        """Read and write until the driver has ended or has to be ended."""
        process = started.process
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        source, sink, complaint = process.stdout.fileno(), process.stdin.fileno(), process.stderr.fileno()
        os.set_blocking(sink, False)
        poll = select.poll()
        poll.register(source, select.POLLIN)
        poll.register(complaint, select.POLLIN)
        poll.register(sink, 0)
        deadline = began + SETUP_SECONDS
        fed = False
        while True:
            for ready, _ in poll.poll(LOOK_SECONDS * 1000):
                if ready == sink:
                    self._write(sink)
                elif not (piece := os.read(ready, 1 << 18)):
                    poll.unregister(ready)
                    if ready == source:
                        return
                elif ready == complaint:
                    self._complaint.add(piece)
                else:
                    self._take_in(piece)
            now = time.monotonic()
            if self._hello and not fed:
                fed = True
                started.begun()
                self._outgoing = len(self._job).to_bytes(8, "big") + self._job
                deadline = now + self._limits.wall_seconds + GRACE_SECONDS
            poll.modify(sink, select.POLLOUT if self._outgoing else 0)
            if self._over(started, now > deadline):
                return

    def _over(self, started: Started, late: bool) -> bool:
        """Whether the run has to be ended from this side."""
        # A driver sends no frame that stays unread.
        if late or self._stop.is_set() or len(self._incoming) > 2 * LARGEST_FRAME:
            self._note("wall")
            return True
        now = time.monotonic()
        if not self._hello or now < self._look:
            return False
        self._look = now + LOOK_SECONDS
        if self._too_much(started):
            self._note("memory")
            return True
        return False

    def _too_much(self, started: Started) -> bool:
        """Whether more memory is in use than there may be."""
        used = started.watched(self._limits.memory_mib)
        if used is None:
            return False
        self._seen.peak_mib = max(self._seen.peak_mib, used)
        return used > self._limits.memory_mib

    def _note(self, limit: str) -> None:
        if limit not in self._seen.limits:
            self._seen.limits.append(limit)

    def _write(self, sink: int) -> None:
        """Write what waits, as far as it fits."""
        try:
            self._outgoing = self._outgoing[os.write(sink, self._outgoing[: 1 << 16]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._outgoing = b""

    def _take_in(self, piece: bytes) -> None:
        """Take apart what the driver sent."""
        self._incoming += piece
        while len(self._incoming) >= 5:
            size = int.from_bytes(self._incoming[1:5], "big")
            if size > LARGEST_FRAME or len(self._incoming) < 5 + size:
                return
            kind, payload = chr(self._incoming[0]), bytes(self._incoming[5 : 5 + size])
            del self._incoming[: 5 + size]
            self._handle(kind, payload)

    def _handle(self, kind: str, payload: bytes) -> None:
        """Take note of one frame."""
        units = self._seen.units
        if kind == "H":
            self._hello = True
        elif kind == "U":
            room = self._limits.output_kib * 1024
            units.append(Unit(Kept(room), Kept(room)))
        elif kind == "F":
            self._seen.finished = True
        elif kind in "ADZ" and self._store is not None:
            if not self._store.take(kind, payload):
                self._note("artifacts")
        elif units:
            self._of_unit(units[-1], kind, payload)

    def _of_unit(self, unit: Unit, kind: str, payload: bytes) -> None:
        """Take note of one frame of a unit."""
        if kind == "O":
            unit.stdout.add(payload)
        elif kind == "E":
            unit.stderr.add(payload)
        elif kind == "R":
            unit.report += payload[: MOST_REPORT - len(unit.report)]
        elif kind == "L":
            unit.limits.append(harmless(payload.decode(errors="replace"))[:20])
        elif kind == "X":
            status, memory, seconds = payload.split()
            unit.status, unit.memory_mib, unit.seconds = int(status), int(memory) / 1024, float(seconds)
            self._outgoing += b"g" if self._goes_on(unit) else b"s"


class Store:
    """Stores artifacts under names of its own, within their limits."""

    def __init__(self, folder: Path, limits: SandboxLimits) -> None:
        self._folder = folder
        self._count = limits.artifacts
        self._room = limits.artifact_mib << 20
        self._open: tuple[str, Path, hashlib._Hash, int] | None = None
        self.kept: list[Artifact] = []

    def take(self, kind: str, payload: bytes) -> bool:
        """Take one frame of an artifact; False where there is no room for it."""
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
            self.end()
            return False
        self._room -= len(payload)
        with path.open("ab") as target:
            target.write(payload)
        digest.update(payload)
        self._open = (name, path, digest, size + len(payload))
        return True

    def _begin(self, name: bytes) -> bool:
        """Open a file for an artifact."""
        self.end()
        if len(self.kept) >= self._count:
            return False
        shown = harmless(name.decode(errors="backslashreplace")).replace("\n", "\\x0a").replace("\t", "\\x09")
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{len(self.kept) + 1:03}-{plain_name(shown)}"
        path.write_bytes(b"")
        self._open = (shown, path.absolute(), hashlib.sha256(), 0)
        return True

    def end(self) -> None:
        """Remove an artifact that never came to its end."""
        if self._open is not None:
            self._open[1].unlink(missing_ok=True)
            self._open = None


def plain_name(shown: str) -> str:
    """Return a name that is harmless as part of a file name on any system."""
    last = shown.rsplit("/", 1)[-1]
    kept = "".join(one if one.isascii() and (one.isalnum() or one in "._-") else "_" for one in last)
    return kept.lstrip("._-")[-80:] or "file"


def signal_name(status: int) -> str | None:
    """Return the name of the signal that ended a process, by its wait status."""
    if not os.WIFSIGNALED(status):
        return None
    number = os.WTERMSIG(status)
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
