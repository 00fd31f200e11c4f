"""Start and replace the workers of a home: one of the current version, and one of each earlier version with runs.

With Worker Versioning a run finishes under the code that it began with. When the code has changed, the running worker
is left to its runs, and a worker of the new version is started next to it. Both run from copies of their source
(`versions.py`), so the worker of an earlier version can be started again after a crash. It ends when the server knows
no running workflow of its version any more.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tenure
from tenure.installation import ROOT
from tenure.settings import Settings
from tenure.settings.worker import WorkerSettings
from tenure.temporal.health.probe import LIVE_PATH, probe_worker
from tenure.temporal.health.record import load_record
from tenure.temporal.stack import processes
from tenure.temporal.stack.fingerprint import build_worker_environment, compute_fingerprint
from tenure.temporal.stack.record import DrainingWorker, ProcessRecord, StackRecord, save
from tenure.temporal.stack.source import compute_source_hash
from tenure.temporal.stack.versions import StoredVersion, VersionState, list_versions, store_version

SHUTDOWN_MARGIN_SECONDS = 15.0
"""Time a worker gets to end after its calls have ended; somewhat longer than its own limit."""

FROZEN_PROBES = 3
"""Health checks without an answer, of some seconds each, after which a worker counts as frozen."""

VersionReader = Callable[[Collection[str]], Mapping[str, VersionState]]
"""Function that asks the server for the states of some build ids."""

_LOCAL_SERVER = "local"
"""Name of the home's own server in the list of servers of a version: its port may change."""


@dataclass(frozen=True)
class WorkerContext:
    """Settings of a start, and the notes that it prints."""

    settings: Settings
    external: str | None
    """Address of a server outside this home, or None for the home's own."""
    read_versions: VersionReader | None
    notes: list[str]

    @property
    def home(self) -> Path:
        """Absolute path of the home."""
        return self.settings.home.absolute()

    @property
    def server(self) -> str:
        """Name of the server and namespace for which workers are started."""
        return f"{self.external or _LOCAL_SERVER} {os.environ.get('TEMPORAL_NAMESPACE', 'default')}"

    @property
    def fingerprint(self) -> str:
        """Keyed hash of the current settings."""
        return compute_fingerprint(self.settings, self.external or f"127.0.0.1:{self.settings.temporal_port}")


def get_worker_log(home: Path) -> Path:
    """Return the path of the log of the current version's worker."""
    return home.absolute() / "logs" / "worker.log"


def get_draining_log(home: Path, build_id: str) -> Path:
    """Return the path of the log of an earlier version's worker."""
    return home.absolute() / "logs" / f"worker-{build_id}.log"


def get_worker_command() -> tuple[str, ...]:
    """Return the command that starts an unversioned worker from this repository."""
    return StoredVersion("", ROOT).build_command()


def find_worker_fault(home: Path, worker: ProcessRecord | None) -> str:
    """Return the reason why a running worker cannot work, or an empty string.

    A worker that starts has no health port yet; it ends if it cannot start.
    """
    if worker is None or not processes.is_alive(worker):
        return ""
    if processes.is_suspended(worker):
        return "its process is suspended"
    recorded = load_record(home.absolute(), worker.pid, worker.created)
    if recorded is None:
        return ""
    for _ in range(FROZEN_PROBES):
        result = probe_worker(*recorded, LIVE_PATH)
        if result.healthy or result.reply:
            return result.reason if not result.healthy else ""
        if not processes.is_alive(worker):
            return ""
    return result.reason


def get_worker_grace(settings: WorkerSettings, fault: str = "") -> float:
    """Return the seconds that a worker gets to end; one with a fault does not react to a request to stop."""
    return 0.0 if fault else settings.shutdown_seconds + SHUTDOWN_MARGIN_SECONDS


def ensure_workers(
    context: WorkerContext, record: StackRecord, command: Sequence[str] | None, root: Path
) -> StackRecord:
    """Return a record whose workers run the current settings: one the current code, the others earlier versions.

    Raises:
        StackError: a worker cannot be started or stopped.
    """
    settings, home = context.settings, context.home
    today = {
        "tenure": tenure.__version__,
        "fingerprint": context.fingerprint,
        "source": compute_source_hash(root),
    }
    fault = find_worker_fault(home, record.worker)
    reason = f"it was frozen ({fault})" if fault else _why_replace(record, today)
    if reason or not processes.is_alive(record.worker):
        version = store_version(home, root) if command is None and settings.worker_versioning else None
        record = _release_worker(context, record, today, version, reason, fault)
        if record.worker is None:
            process = _spawn_current(context, version, command, root)
            record = record.model_copy(
                update={"worker": process, "build_id": version.build_id if version else "", **today}
            )
        save(home, record)
    return _ensure_draining(context, record, root)


def _release_worker(
    context: WorkerContext,
    record: StackRecord,
    today: Mapping[str, str],
    version: StoredVersion | None,
    reason: str,
    fault: str,
) -> StackRecord:
    """Return a record without the worker: it was stopped, or drains because other code is to run now.

    If a worker of the wanted version drains, for instance because a change of the code was undone, it takes the place.
    """
    worker, home = record.worker, context.home
    if worker is None:
        pass
    elif not processes.is_alive(worker):
        last = processes.read_last_line(get_worker_log(home))
        context.notes.append(
            f"the worker (process {worker.pid}) had ended and was restarted; its last log line: {last}"
        )
    elif not fault and record.build_id and record.source != today["source"] and _has_work(context, record.build_id):
        context.notes.append(
            f"the code changed: the worker of version {record.build_id} (process {worker.pid}) finishes its runs"
        )
        _rename_log(get_worker_log(home), get_draining_log(home, record.build_id))
        drains = DrainingWorker(build_id=record.build_id, process=worker, fingerprint=record.fingerprint)
        record = record.model_copy(update={"draining": (*record.draining, drains)})
    else:
        processes.stop(worker, get_worker_grace(context.settings, fault))
        context.notes.append(f"the worker was restarted: {reason}")
    record = record.model_copy(update={"worker": None, "build_id": ""})
    draining = {worker.build_id: worker for worker in record.draining}
    again = draining.pop(version.build_id, None) if version else None
    if again is None:
        return record
    record = record.model_copy(update={"draining": tuple(draining.values())})
    if again.fingerprint != today["fingerprint"]:
        processes.stop(again.process, get_worker_grace(context.settings))
    if not processes.is_alive(again.process):
        return record
    _rename_log(get_draining_log(home, again.build_id), get_worker_log(home))
    return record.model_copy(update={"worker": again.process, "build_id": again.build_id, **today})


def _ensure_draining(context: WorkerContext, record: StackRecord, root: Path) -> StackRecord:
    """Return a record in which exactly the earlier versions with runs have a worker; remove all others."""
    read, stored = context.read_versions, list_versions(context.home)
    stored.pop(record.build_id, None)
    draining = {worker.build_id: worker for worker in record.draining}
    builds = sorted({*stored, *draining})
    if read is None or not builds:
        return record
    states, fingerprint = read(builds), context.fingerprint
    for build_id in builds:
        worker, version = draining.get(build_id), stored.get(build_id)
        fault = find_worker_fault(context.home, worker.process) if worker else ""
        if states[build_id] != "in_use":
            _end_worker(context, build_id, worker)
            if version and states[build_id] == "drained" and version.is_only_for(context.server):
                version.remove()
                get_draining_log(context.home, build_id).unlink(missing_ok=True)
            draining.pop(build_id, None)
        elif (
            worker
            and not fault
            and processes.is_alive(worker.process)
            and (worker.fingerprint == fingerprint or version is None)
        ):
            continue
        elif version is None:
            context.notes.append(
                f"the copy of version {build_id} is missing: its runs wait for a worker that runs this code"
            )
            draining.pop(build_id, None)
        else:
            why = "it has runs"
            if worker and processes.stop(worker.process, get_worker_grace(context.settings, fault)):
                why = f"it was frozen ({fault})" if fault else "the settings changed"
            version.prepare(root)
            process = _spawn_draining(context, version)
            draining[build_id] = DrainingWorker(build_id=build_id, process=process, fingerprint=fingerprint)
            context.notes.append(f"the worker of version {build_id} was started again (process {process.pid}): {why}")
        record = record.model_copy(update={"draining": tuple(draining[build] for build in sorted(draining))})
        save(context.home, record)
    return record


def _end_worker(context: WorkerContext, build_id: str, worker: DrainingWorker | None) -> None:
    """Stop the worker of a version without runs."""
    if worker and processes.stop(worker.process, get_worker_grace(context.settings)):
        context.notes.append(f"all runs of version {build_id} have ended: its worker was stopped")


def _spawn_current(
    context: WorkerContext, version: StoredVersion | None, command: Sequence[str] | None, root: Path
) -> ProcessRecord:
    """Start the worker of the current code."""
    if version is None:
        return _spawn(context, command or get_worker_command(), {}, get_worker_log(context.home))
    version.prepare(root)
    version.add_server(context.server)
    chosen = version.build_command("--make-current")
    return _spawn(context, chosen, version.environment, get_worker_log(context.home))


def _spawn_draining(context: WorkerContext, version: StoredVersion) -> ProcessRecord:
    """Start a worker of an earlier version."""
    log = get_draining_log(context.home, version.build_id)
    # Also if the settings turn versioning off now: the runs of this version wait for a worker of it.
    extra = {**version.environment, "TENURE_WORKER_VERSIONING": "on"}
    return _spawn(context, version.build_command("--versioned"), extra, log, is_earlier=True)


def _spawn(
    context: WorkerContext, command: Sequence[str], extra: Mapping[str, str], log: Path, *, is_earlier: bool = False
) -> ProcessRecord:
    """Start a worker with the current settings; one of earlier code keeps the defaults of its code."""
    changes = build_worker_environment(context.settings, changed_only=is_earlier)
    environment = {name: value for name, value in os.environ.items() if name not in changes}
    environment |= {name: value for name, value in changes.items() if value is not None}
    # Several workers of one home run at the same time, so none of them has a fixed port.
    environment |= {"TENURE_HOME": str(context.home), "TENURE_HEALTH_PORT": "0", **extra}
    return processes.spawn(command, environment, context.home, log)


def _has_work(context: WorkerContext, build_id: str) -> bool:
    """Return whether a version may have runs: it has some, or is the one that the server gives new runs to."""
    read = context.read_versions
    return read is None or read([build_id])[build_id] == "in_use"


def _rename_log(log: Path, target: Path) -> None:
    """Rename the log of a running worker, which continues to write into it."""
    if log.exists():
        log.replace(target)


def _why_replace(record: StackRecord, today: Mapping[str, str]) -> str:
    """Return the reason for replacing a running worker, or an empty string."""
    if record.tenure != today["tenure"]:
        return f"it ran Tenure {record.tenure}, this is {today['tenure']}"
    if record.source != today["source"]:
        return "its code changed"
    return "" if record.fingerprint == today["fingerprint"] else "the settings changed"
