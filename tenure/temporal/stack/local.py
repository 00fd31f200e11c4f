"""The local stack of a home: one Temporal server and one worker, both detached (DESIGN §8).

One stack per home. `up` brings it into the state the settings ask for: what died is started again, and
a worker whose settings or code are no longer today's is replaced, which no run notices but by a
short wait. A lock serialises `up` and `down`, so two commands at once never start two stacks.

A server that is not this home's is never started, stopped or judged here. Its user passes its address
as `external`, and the stack then consists of the worker alone. Whether something on the port that is
not ours (`PortTaken`) is such a server is the caller's to find out: it needs a Temporal client, and
nothing of Temporal's library is imported here.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict

import tenure
from tenure.settings import Settings
from tenure.temporal.stack import processes, server
from tenure.temporal.stack.errors import StackError
from tenure.temporal.stack.fingerprint import fingerprint, worker_environment
from tenure.temporal.stack.record import StackRecord, clear, load, save
from tenure.temporal.stack.source import ROOT, source_hash

LOCK_SECONDS = 120.0
"""How long one command waits for another that starts or stops the same stack."""

WORKER_GRACE_SECONDS = 30.0
"""How long a worker may take to hand back what it is doing."""

SERVER_GRACE_SECONDS = 15.0


class StackStatus(BaseModel):
    """How the stack of a home stands."""

    model_config = ConfigDict(frozen=True)

    home: str
    server_pid: int | None = None
    """Process id of this home's Temporal server; None where it does not run."""
    worker_pid: int | None = None
    """Process id of this home's worker; None where it does not run."""
    worker_created: float = 0.0
    """Start time of the worker, seconds since the epoch."""
    port: int
    """Port of the Temporal server."""
    ui_url: str
    """Address of the web UI."""
    server_ready: bool = False
    """Whether this home's server answers."""
    started: bool = False
    """Whether `up` started anything."""
    notes: tuple[str, ...] = ()
    """What was done or is wrong, a line each."""


def up(settings: Settings, *, external: str | None = None, worker_command: Sequence[str] | None = None) -> StackStatus:
    """Bring the stack of a home up; whatever of it runs already, and rightly so, is left alone.

    Args:
        settings: the home, its ports, and what the worker is to use.
        external: address of a server that is not this home's; then only the worker is started.
        worker_command: how to start a worker; `worker.py` of this repository by default.

    Raises:
        PortTaken: something else listens on the server's port.
        StackError: it cannot be started; the message says what to do.
    """
    home = _prepare(settings.home)
    with _locked(home):
        record = load(home)
        _check_strays(home, record)
        notes: list[str] = []
        before = record
        if external is None:
            record = _ensure_server(settings, record, notes)
        address = external or f"127.0.0.1:{settings.temporal_port}"
        record = _ensure_worker(settings, record, address, worker_command or default_worker(), notes)
        started = (record.server, record.worker) != (before.server, before.worker)
    return _describe(settings, record, notes, started=started)


def down(settings: Settings) -> tuple[str, ...]:
    """End the stack of a home, the worker first; returns what was done, a line each.

    Raises:
        StackError: a process cannot be ended, or the home cannot be written.
    """
    home = settings.home.absolute()
    if not home.is_dir():
        return _end_strays(home) or ("no stack is running",)
    with _locked(home):
        try:
            record = load(home)
        except StackError:
            ended = _end_strays(home)
            clear(home)
            return (*ended, "the damaged stack record was cleared")
        done = [
            f"{name} stopped (process {process.pid})"
            for name, process, grace in (
                ("worker", record.worker, WORKER_GRACE_SECONDS),
                ("Temporal server", record.server, SERVER_GRACE_SECONDS),
            )
            if process is not None and processes.end(process, grace)
        ]
        stopped = tuple(done) or _end_strays(home)
        clear(home)
    return stopped or ("no stack is running",)


def status(settings: Settings) -> StackStatus:
    """Look at the stack of a home without touching it.

    Raises:
        StackError: its record cannot be read.
    """
    record = load(settings.home.absolute())
    notes = []
    if record.server and not processes.is_alive(record.server):
        notes.append("the Temporal server has stopped: run `python client.py up`")
    if record.worker and not processes.is_alive(record.worker):
        last = processes.last_line(worker_log(settings.home))
        notes.append(f"the worker has stopped (last log line: {last}): run `python client.py up`")
    if processes.is_alive(record.server) and record.port != settings.temporal_port:
        notes.append(_other_port(record))
    return _describe(settings, record, notes, started=False)


def default_worker() -> tuple[str, ...]:
    """Return the command that starts this repository's worker."""
    return (sys.executable, str(ROOT / "worker.py"))


def worker_log(home: Path) -> Path:
    """Return where the worker of a home writes."""
    return home.absolute() / "logs" / "worker.log"


def server_log(home: Path) -> Path:
    """Return where the server of a home writes."""
    return home.absolute() / "logs" / "temporal.log"


def _prepare(home: Path) -> Path:
    """Make the home's folders."""
    home = home.absolute()
    try:
        (home / "logs").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(home, error) from error
    return home


def _unwritable(home: Path, error: OSError) -> StackError:
    """Say that a home is of no use."""
    return StackError(f"{home} cannot be written ({error.strerror}): set TENURE_HOME to a folder you can write")


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold the home's lock; a write that fails under it is the home's fault."""
    lock = FileLock(home / "stack.lock", timeout=LOCK_SECONDS)
    try:
        with lock:
            yield
    except Timeout as error:
        raise StackError(f"another command has held {home / 'stack.lock'} for two minutes: end it and retry") from error
    except OSError as error:
        raise _unwritable(home, error) from error


def _ensure_server(settings: Settings, record: StackRecord, notes: list[str]) -> StackRecord:
    """Return a record whose server answers, starting one where none runs."""
    home, log, path = settings.home.absolute(), server_log(settings.home), server.binary()
    if record.server and processes.is_alive(record.server):
        if (record.port, record.ui_port) != (settings.temporal_port, settings.ui_port):
            raise StackError(_other_port(record))
        if record.binary != server.identity(path):
            notes.append("the Temporal server runs another build than the one installed: `down`, then `up` changes it")
        server.wait_until_ready(record.server, settings, log, 0)
        return record
    if record.server:
        notes.append(f"the Temporal server (process {record.server.pid}) was gone: started again")
    start = processes.log_size(log)
    process = server.start(settings, path, log)
    record = record.model_copy(
        update={
            "server": process,
            "port": settings.temporal_port,
            "ui_port": settings.ui_port,
            "binary": server.identity(path),
        }
    )
    # Saved before it answers: a command that is interrupted now must leave no server nobody knows of.
    save(home, record)
    server.wait_until_ready(process, settings, log, min(start, processes.log_size(log)))
    return record


def _ensure_worker(
    settings: Settings, record: StackRecord, address: str, command: Sequence[str], notes: list[str]
) -> StackRecord:
    """Return a record whose worker runs today's code with today's settings."""
    today = {"tenure": tenure.__version__, "fingerprint": fingerprint(settings, address), "source": source_hash()}
    alive = processes.is_alive(record.worker)
    reason = _why_replace(record, today)
    if alive and not reason:
        return record
    if alive:
        processes.end(record.worker, WORKER_GRACE_SECONDS)
        notes.append(f"the worker was restarted: {reason}")
    elif record.worker:
        last = processes.last_line(worker_log(settings.home))
        notes.append(f"the worker (process {record.worker.pid}) was gone: started again; its last log line: {last}")
    changes = worker_environment(settings)
    environment = {name: value for name, value in os.environ.items() if name not in changes}
    environment |= {name: value for name, value in changes.items() if value is not None}
    process = processes.spawn(command, environment, settings.home.absolute(), worker_log(settings.home))
    record = record.model_copy(update={"worker": process, **today})
    save(settings.home.absolute(), record)
    return record


def _why_replace(record: StackRecord, today: Mapping[str, str]) -> str:
    """Say why a living worker is not the right one; empty where it is."""
    if record.tenure != today["tenure"]:
        return f"it ran Tenure {record.tenure}, this is {today['tenure']}"
    if record.source != today["source"]:
        return "it ran other code"
    return "" if record.fingerprint == today["fingerprint"] else "the settings changed"


def _other_port(record: StackRecord) -> str:
    """Say on which ports the home's stack runs."""
    return (
        f"this home's stack runs on ports {record.port} and {record.ui_port}: set TENURE_TEMPORAL_PORT={record.port} "
        f"TENURE_UI_PORT={record.ui_port}, or run `python client.py down` first"
    )


def _check_strays(home: Path, record: StackRecord) -> None:
    """Make sure that nothing runs for a home whose record knows of nothing.

    Raises:
        StackError: a stack does; its folder was deleted or put back, so what it stores is not in this home.
    """
    if processes.is_alive(record.server) or processes.is_alive(record.worker):
        return
    if strays := processes.of_home(home):
        pids = ", ".join(str(process.pid) for process in strays)
        raise StackError(
            f"a stack of this home is still running without its folder: pids {pids}; "
            "stop it with `python client.py down`"
        )


def _end_strays(home: Path) -> tuple[str, ...]:
    """End what runs for a home although no record tells of it."""
    return tuple(
        f"process {process.pid} stopped"
        for process in processes.of_home(home)
        if processes.end(process, WORKER_GRACE_SECONDS)
    )


def _describe(settings: Settings, record: StackRecord, notes: Sequence[str], *, started: bool) -> StackStatus:
    """Turn a record into a status."""
    server_alive, worker_alive = processes.is_alive(record.server), processes.is_alive(record.worker)
    port, ui_port = (record.port, record.ui_port) if server_alive else (settings.temporal_port, settings.ui_port)
    return StackStatus(
        home=str(settings.home.absolute()),
        server_pid=record.server.pid if record.server and server_alive else None,
        worker_pid=record.worker.pid if record.worker and worker_alive else None,
        worker_created=record.worker.created if record.worker and worker_alive else 0.0,
        port=port,
        ui_url=f"http://127.0.0.1:{ui_port}",
        server_ready=server_alive and server.is_ready(ui_port),
        started=started,
        notes=tuple(notes),
    )
