"""Start a starter as a process, measure its time and memory, and kill everything it has started."""

import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import psutil

_SAMPLE_SECONDS: Final = 0.2
_TAIL: Final = 1500


@dataclass(frozen=True)
class Measured:
    """One process that has ended."""

    exit_code: int | None
    """None if it was killed."""
    seconds: float
    cpu_seconds: float
    """Processor time of all its processes together."""
    peak_megabytes: int
    """Largest memory of all its processes together; shared pages count once."""
    tail: str
    """End of its output."""


def find_processes(folder: Path) -> list[psutil.Process]:
    """Return the running processes whose command line or environment names a folder."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            named = [*process.cmdline(), *process.environ().values()]
            if any(str(folder) in text for text in named):
                found.append(process)
    return found


def kill_all(folder: Path) -> None:
    """Kill the processes of a folder with SIGKILL, and wait until they are gone."""
    # A supervisor may start another process in between.
    while found := [process for process in find_processes(folder) if process.pid != psutil.Process().pid]:
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(found, timeout=10)
        if all(process.status() == psutil.STATUS_ZOMBIE for process in found if process.is_running()):
            return


class ProcessMeter:
    """Sample memory and processor time of the processes of a folder while a block runs.

    Args:
        folder: the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.peak_bytes = 0
        self._earlier: dict[tuple[int, float], float] = {}
        self._cpu_seconds: dict[tuple[int, float], float] = {}
        self._folder = folder
        self._ends = threading.Event()
        self._known: dict[tuple[int, float], bool] = {}
        self._thread = threading.Thread(target=self._sample, name="process-meter")

    def __enter__(self) -> Self:
        # A server that an earlier question has started continues to run.
        self._read_cpu_seconds(self._select())
        self._earlier = dict(self._cpu_seconds)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    @property
    def cpu_seconds(self) -> float:
        """Processor time that the processes have used in the block, up to their last samples."""
        return sum(self._cpu_seconds.values()) - sum(self._earlier.values())

    def _sample(self) -> None:
        while not self._ends.wait(_SAMPLE_SECONDS):
            processes = self._select()
            self.peak_bytes = max(self.peak_bytes, sum(map(_read_memory, processes)))
            self._read_cpu_seconds(processes)

    def _read_cpu_seconds(self, processes: Sequence[psutil.Process]) -> None:
        for process in processes:
            with suppress(psutil.Error):
                times = process.cpu_times()
                self._cpu_seconds[process.pid, process.create_time()] = times.user + times.system

    def _select(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                key = (process.pid, process.create_time())
                # A process that has just been forked still has the command line of its parent.
                if not self._known.get(key):
                    named = [*process.cmdline(), *process.environ().values()]
                    self._known[key] = any(str(self._folder) in text for text in named)
                if self._known[key]:
                    found.append(process)
        return found


def _read_memory(process: psutil.Process) -> int:
    """Return the memory of a process in bytes: its share of shared pages where the system reports it."""
    try:
        memory = process.memory_full_info()
    except psutil.Error:
        return 0
    return int(getattr(memory, "pss", memory.rss))


def run_process(
    command: Sequence[str],
    variables: Mapping[str, str],
    folder: Path,
    timeout: float,
    watch: Callable[[Callable[[], bool]], bool] | None = None,
) -> Measured:
    """Run a command until it ends, and measure it.

    Args:
        command: command line; it or its environment names the folder.
        variables: environment variables.
        folder: folder of its state.
        timeout: seconds after which it is killed.
        watch: called with a function that returns whether the process runs; returns whether to kill it.
    """
    log = folder.parent / "output.log"
    began = time.perf_counter()
    with ProcessMeter(folder) as meter, log.open("ab") as output:
        process = subprocess.Popen(
            command, env=dict(variables), cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        kills = watch is not None and watch(lambda: process.poll() is None)
        try:
            code: int | None = None if kills else process.wait(timeout)
        except subprocess.TimeoutExpired:
            code, kills = None, True
        if kills:
            kill_all(folder)
            process.wait()
    seconds = time.perf_counter() - began
    tail = log.read_text(encoding="utf-8", errors="replace")[-_TAIL:]
    return Measured(code, round(seconds, 1), round(meter.cpu_seconds, 1), meter.peak_bytes // 1_000_000, tail)
