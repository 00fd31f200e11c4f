"""Run the local stack of a home, all detached: a Temporal server, a worker, the page and, if chosen, a local model.

There is one stack per home. `up` makes it match the settings: it starts what is not running, and replaces a worker
whose settings are out of date, which delays running workflows only briefly. A worker whose code is out of date keeps
running next to the new one until the runs of its version have ended (`workers.py`). A lock serialises `up` and `down`,
so two concurrent commands never start two stacks.

Servers outside this home are never started, stopped or inspected here. For such a server the caller passes its
address as `external`, and the stack consists of the worker and the page only. The caller decides whether the program
on a taken port (`PortTaken`) is a Temporal server: that needs a Temporal client, and this module imports nothing of the
SDK.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict

from tenure.installation import PROGRAM, ROOT
from tenure.private_files import ForeignHome, make_private
from tenure.settings import Settings
from tenure.settings.home import StackSettings
from tenure.settings.worker import WorkerSettings
from tenure.temporal.gate.access_key import HOST, build_link, load_key
from tenure.temporal.gate.sockets import GATE_SOCKET
from tenure.temporal.stack import processes, server, workers
from tenure.temporal.stack.errors import StackError
from tenure.temporal.stack.local_model import MODEL_GRACE_SECONDS, describe_stopped_model, ensure_local_model
from tenure.temporal.stack.ports import keep_ports, move_ports
from tenure.temporal.stack.record import StackRecord, clear, load, save
from tenure.temporal.stack.site import SITE_GRACE_SECONDS, ensure_site, get_site_log
from tenure.temporal.stack.workers import VersionReader, find_worker_fault, get_worker_grace
from tenure.temporal.stack.workers import get_worker_log as get_worker_log

LOCK_SECONDS = 120.0
"""Time one command waits for another one that starts or stops the same stack."""

SERVER_GRACE_SECONDS = 15.0


class DrainingStatus(BaseModel):
    """State of the worker of an earlier version."""

    model_config = ConfigDict(frozen=True)

    build_id: str
    pid: int | None
    """Process id, or None if it is not running."""


class StackStatus(BaseModel):
    """State of a home's stack."""

    model_config = ConfigDict(frozen=True)

    home: str
    server_pid: int | None = None
    """Process id of this home's Temporal server, or None if it is not running."""
    worker_pid: int | None = None
    """Process id of this home's worker, or None if it is not running."""
    worker_created: float = 0.0
    """Start time of the worker in seconds since the epoch."""
    build_id: str = ""
    """Version of the worker's code; empty without versioning."""
    draining: tuple[DrainingStatus, ...] = ()
    """Workers of earlier versions, which finish the runs that began under them."""
    port: int
    """Port of the Temporal server."""
    ui_port: int
    """Port of the web UI."""
    ui_url: str
    """URL of the web UI; while the server runs, a link with a token that opens it."""
    site_pid: int | None = None
    """Process id of the page, or None if it is not running."""
    site_port: int = 0
    """Port of the running page, or 0."""
    site_url: str = ""
    """Link with a token that opens the running page, or an empty string."""
    local_model: str = ""
    """Name of the model that the stack serves, or an empty string."""
    local_model_pid: int | None = None
    """Process id of the local model, or None if it is not running."""
    local_model_port: int = 0
    server_ready: bool = False
    """Whether this home's server answers."""
    exposure: str = ""
    """Reason why other users of this machine can reach the running server; empty if they cannot."""
    started: bool = False
    """Whether `up` started anything."""
    notes: tuple[str, ...] = ()
    """Actions taken and problems found, one line each."""


def start_stack(
    settings: Settings,
    *,
    external: str | None = None,
    worker_command: Sequence[str] | None = None,
    read_versions: VersionReader | None = None,
    root: Path = ROOT,
) -> StackStatus:
    """Start the stack of a home; processes that already run with the right code and settings are left alone.

    Args:
        settings: the home, its ports, and the worker's configuration.
        external: address of a server outside this home; only the worker is started then.
        worker_command: command that starts a worker without versioning; by default, a versioned worker is started from
            a copy of the source, unless the settings turn versioning off.
        read_versions: function that asks the server for the states of versions; without it, the workers of earlier
            versions are left alone.
        root: folder of the source.

    Raises:
        PortTaken: another program listens on the server's port.
        StackError: the stack cannot be started; the message says what to do.
        LocalModelError: the local model cannot be served.
    """
    home, notes = settings.home.absolute(), prepare_home(settings.home)
    with _locked(home):
        record = load(home)
        _check_strays(home, record)
        if not processes.is_alive(record.server):
            # Left by a killed gate: with it, a connection would never try the port.
            (home / GATE_SOCKET).unlink(missing_ok=True)
        before = record
        owners = server.compute_owners_digest(settings)
        if record.owners and not owners:
            raise StackError(
                "the stack of this home serves owners, and TENURE_OWNERS is not set: set it, or end the stack first "
                f"with `{PROGRAM} down`"
            )
        if external is None and owners != record.owners and processes.is_alive(record.server):
            notes.append("the Temporal server was restarted: the owners changed")
            processes.stop(record.server, SERVER_GRACE_SECONDS)
            record = record.model_copy(update={"server": None})
        record = record.model_copy(update={"owners": owners})
        if processes.is_alive(record.server):
            settings = keep_ports(settings, record)
        elif external is None:
            settings = move_ports(settings, notes)
        # First, since it may be refused, and loads its file while the others start.
        record = ensure_local_model(settings, record, root, notes)
        if external is None:
            record = _ensure_server(settings, record, notes)
        context = workers.WorkerContext(settings, external, read_versions, notes)
        record = workers.ensure_workers(context, record, worker_command, root)
        record = ensure_site(settings, external, record, root, notes)
        started = (record.server, *record.workers) != (before.server, *before.workers)
    return _describe(settings, record, notes, started=started)


def stop_stack(settings: WorkerSettings) -> tuple[str, ...]:
    """Stop the stack of a home, the worker first, and return the actions taken, one line each.

    Raises:
        StackError: a process cannot be stopped, or the home cannot be written.
    """
    home = settings.home.absolute()
    if not home.is_dir():
        return _end_strays(settings) or ("no stack is running",)
    with _locked(home):
        try:
            record = load(home)
        except StackError:
            ended = _end_strays(settings)
            clear(home)
            return (*ended, "the damaged stack record was cleared")
        workers = [("worker", record.worker)]
        workers += [(f"worker of {worker.build_id}", worker.process) for worker in record.draining]
        parts = [
            *((name, worker, get_worker_grace(settings, find_worker_fault(home, worker))) for name, worker in workers),
            ("page", record.site.process if record.site else None, SITE_GRACE_SECONDS),
            ("local model", record.local_model.process if record.local_model else None, MODEL_GRACE_SECONDS),
            ("Temporal server", record.server, SERVER_GRACE_SECONDS),
        ]
        running = [part for part in parts if processes.is_alive(part[1])]
        # Workers and page at the same time: each may need its whole grace period. The last two serve running calls.
        for _, process, _ in parts[:-2]:
            if process:
                processes.request_stop(process)
        done = []
        for name, process, grace in running:
            processes.stop(process, grace)
            done.append(f"{name} stopped (process {process.pid if process else 0})")
        stopped = tuple(done) or _end_strays(settings)
        clear(home)
    return stopped or ("no stack is running",)


def get_status(settings: StackSettings) -> StackStatus:
    """Return the state of a home's stack without changing it.

    Raises:
        StackError: the record cannot be read.
    """
    record = load(settings.home.absolute())
    notes: list[str] = []
    is_running = processes.is_alive(record.server)
    settings = keep_ports(settings, record) if is_running else move_ports(settings, [])
    if record.server and not is_running:
        notes.append(f"the Temporal server has stopped: run `{PROGRAM} up`")
    if record.worker and not processes.is_alive(record.worker):
        last = processes.read_last_line(get_worker_log(settings.home))
        notes.append(f"the worker has stopped (last log line: {last}): run `{PROGRAM} up`")
    notes += [
        f"the worker (process {worker.pid}) is frozen ({fault}): run `{PROGRAM} up`, which replaces it"
        for worker in record.workers
        if (fault := find_worker_fault(settings.home, worker))
    ]
    notes += [
        f"the worker of the earlier version {worker.build_id} has stopped: `{PROGRAM} up` starts it again if "
        "runs need it"
        for worker in record.draining
        if not processes.is_alive(worker.process)
    ]
    if record.site and not processes.is_alive(record.site.process):
        last = processes.read_last_line(get_site_log(settings.home))
        notes.append(f"the page has stopped (last log line: {last}): run `{PROGRAM} up`")
    if stopped := describe_stopped_model(settings.home, record):
        notes.append(stopped)
    if is_running and record.port != settings.temporal_port:
        notes.append(_other_port(record))
    return _describe(settings, record, notes, started=False)


def get_server_log(home: Path) -> Path:
    """Return the path of the server's log."""
    return home.absolute() / "logs" / "temporal.log"


def prepare_home(home: Path) -> list[str]:
    """Create the home's folders, remove the permissions of other users from an existing home, and return notes on that.

    Raises:
        StackError: the home cannot be written, or belongs to another user.
    """
    home = home.absolute()
    try:
        corrected = make_private(home)
        (home / "logs").mkdir(mode=0o700, exist_ok=True)
    except ForeignHome as error:
        raise StackError(f"{error}: set TENURE_HOME to a folder of your own") from error
    except OSError as error:
        raise _unwritable(home, error) from error
    return [f"{home} was open to other users: {corrected} files and folders are private now"] if corrected else []


def _unwritable(home: Path, error: OSError) -> StackError:
    """Return the error for a home that cannot be written."""
    return StackError(f"{home} cannot be written ({error.strerror}): set TENURE_HOME to a folder you can write")


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold the home's lock, and report failed writes as errors of the home."""
    lock = FileLock(home / "stack.lock", timeout=LOCK_SECONDS, mode=0o600)
    try:
        with lock:
            yield
    except Timeout as error:
        raise StackError(f"another command holds {home / 'stack.lock'} for two minutes: stop it and retry") from error
    except OSError as error:
        raise _unwritable(home, error) from error


def _ensure_server(settings: StackSettings, record: StackRecord, notes: list[str]) -> StackRecord:
    """Return a record whose server answers, starting one if none runs."""
    home, log, path = settings.home.absolute(), get_server_log(settings.home), server.find_binary()
    if record.server and processes.is_alive(record.server):
        if (record.port, record.ui_port) != (settings.temporal_port, settings.ui_port):
            raise StackError(_other_port(record))
        if record.binary != server.identify_binary(path):
            notes.append("the Temporal server runs another version than the installed one: run `down`, then `up`")
        server.wait_until_ready(record.server, settings.home, log, 0)
        return record
    if record.server:
        notes.append(f"the Temporal server (process {record.server.pid}) was gone: started again")
    for orphan in processes.find_database_users(home):
        processes.stop(orphan, SERVER_GRACE_SECONDS)
    start = processes.get_log_size(log)
    process = server.start(settings, path, log)
    record = record.model_copy(
        update={
            "server": process,
            "port": settings.temporal_port,
            "ui_port": settings.ui_port,
            "binary": server.identify_binary(path),
        }
    )
    # Saved before the server answers: an interrupted command must not leave an unrecorded server.
    save(home, record)
    server.wait_until_ready(process, settings.home, log, min(start, processes.get_log_size(log)))
    return record


def _other_port(record: StackRecord) -> str:
    """Return the message for a stack that runs on other ports."""
    return (
        f"this home's stack runs on ports {record.port} and {record.ui_port}: set TENURE_TEMPORAL_PORT={record.port} "
        f"TENURE_UI_PORT={record.ui_port}, or run `{PROGRAM} down` first"
    )


def _check_strays(home: Path, record: StackRecord) -> None:
    """Check that no process runs for a home without a record.

    Raises:
        StackError: a stack runs; its folder was deleted or restored, so its data is not in this home.
    """
    if any(map(processes.is_alive, (record.server, *record.workers))):
        return
    recorded = {part.process.pid for part in (record.site, record.local_model) if part}
    if strays := [process for process in processes.find_stack_processes(home) if process.pid not in recorded]:
        pids = ", ".join(str(process.pid) for process in strays)
        raise StackError(
            f"a stack of this home is still running without its folder: pids {pids}; stop it with `{PROGRAM} down`"
        )


def _end_strays(settings: WorkerSettings) -> tuple[str, ...]:
    """Stop processes that run for a home although no record names them."""
    return tuple(
        f"process {process.pid} stopped"
        for process in processes.find_stack_processes(settings.home.absolute())
        if processes.stop(process, get_worker_grace(settings))
    )


def _describe(settings: StackSettings, record: StackRecord, notes: Sequence[str], *, started: bool) -> StackStatus:
    server_alive, worker_alive = processes.is_alive(record.server), processes.is_alive(record.worker)
    port, ui_port = (record.port, record.ui_port) if server_alive else (settings.temporal_port, settings.ui_port)
    ready, exposure = server.ask_gate(settings.home) if server_alive else (False, "")
    url = f"http://{HOST}:{ui_port}"
    site = record.site if record.site and processes.is_alive(record.site.process) else None
    model = record.local_model
    return StackStatus(
        home=str(settings.home.absolute()),
        server_pid=record.server.pid if record.server and server_alive else None,
        worker_pid=record.worker.pid if record.worker and worker_alive else None,
        worker_created=record.worker.created if record.worker and worker_alive else 0.0,
        build_id=record.build_id,
        draining=tuple(
            DrainingStatus(
                build_id=worker.build_id, pid=worker.process.pid if processes.is_alive(worker.process) else None
            )
            for worker in record.draining
        ),
        port=port,
        ui_port=ui_port,
        ui_url=build_link(load_key(settings.home), url) if server_alive else url,
        site_pid=site.process.pid if site else None,
        site_port=site.port if site else 0,
        site_url=build_link(load_key(settings.home), f"http://{HOST}:{site.port}/") if site else "",
        local_model=model.name if model else "",
        local_model_pid=model.process.pid if model and processes.is_alive(model.process) else None,
        local_model_port=model.port if model else 0,
        server_ready=ready,
        exposure=exposure,
        started=started,
        notes=tuple(notes),
    )
