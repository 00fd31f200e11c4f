"""All faults of the drill by name, with the runs and the moments in which each may strike."""

import asyncio
import shutil
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, Literal, NamedTuple

import psutil
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    PollActivityTaskQueueRequest,
    RespondActivityTaskCompletedRequest,
)
from temporalio.service import RPCError, RPCStatusCode

from benchmarks.support.drill import disk
from benchmarks.support.drill.accounting import utc_now
from benchmarks.support.drill.process import list_descendants, signal_all
from benchmarks.support.drill.proxy import Proxy
from benchmarks.support.drill.world import HEARTBEAT_SECONDS, RunKind, World
from tests.model_server import Fault
from workflows.runtime.task_queues import MODEL_QUEUE

Moment = Literal["call", "start", "ingest", "reader", "sandbox"]
"""Moment of a fault: during a model call, before the run starts, or while documents are read or a program runs."""

BRIEF: Final = (1.0, 5.0)
"""Range of the seconds of a short interruption."""
LONG_SECONDS: Final = HEARTBEAT_SECONDS + 3
"""Seconds of an interruption after which activities have timed out."""
_WAIT_SECONDS: Final = 300.0
_POLL_SECONDS: Final = 0.01
_DRIP_BYTES: Final = 120
_CHILD_SECONDS: Final = 1.5
"""Longest time between the start of a child process and its fault."""
_READER: Final = "tenure.sources.parsers.reader_process"
"""Text in the command line of a process that reads documents."""
_SANDBOX: Final = "bwrap"
"""Text in the command line of a process that runs a program."""


class Struck(NamedTuple):
    """Fault that has struck."""

    since: float | None
    """End of the fault, in seconds since 1970; the run can continue from then on. None if it was not running."""
    ended: int | None = None
    """Process of the worker that the fault has ended."""


class NotStruck(Exception):
    """The fault found nothing to strike; the message says what was missing."""


class Unprotected(Exception):
    """The system accepted what it has to refuse."""


Strike = Callable[[World, Random], Awaitable[Struck]]


@dataclass(frozen=True)
class DrillFault:
    """A fault with its name."""

    name: str
    strike: Strike
    moment: Moment = "call"
    kinds: tuple[RunKind, ...] = ("research", "code")
    needs_mounts: bool = False
    needs_clock: bool = False
    weight: int = 1
    """Relative frequency."""


# Processes


async def _kill_worker(world: World, chance: Random) -> Struck:
    pid = world.worker.pid
    world.worker.send(signal.SIGKILL)
    return Struck(utc_now(), pid)


async def _stop_worker(world: World, chance: Random, seconds: tuple[float, float]) -> Struck:
    world.worker.send(signal.SIGSTOP)
    await asyncio.sleep(chance.uniform(*seconds))
    world.worker.send(signal.SIGCONT)
    return Struck(utc_now())


async def _freeze_worker(world: World, chance: Random, *, continues: bool) -> Struck:
    """Replace a stopped worker; if it continues later, it reports results that another worker has replaced."""
    since, pid = utc_now(), world.worker.pid
    frozen = await world.worker.replace()
    if continues:
        await asyncio.sleep(LONG_SECONDS)
        frozen.send_signal(signal.SIGCONT)
        await asyncio.sleep(2)
        frozen.kill()
    return Struck(since, pid)


async def _kill_server(world: World, chance: Random) -> Struck:
    world.server.send(signal.SIGKILL)
    return Struck(utc_now())


async def _stop_server(world: World, chance: Random, *, kills: bool) -> Struck:
    world.server.send(signal.SIGSTOP)
    await asyncio.sleep(chance.uniform(*BRIEF))
    world.server.send(signal.SIGKILL if kills else signal.SIGCONT)
    return Struck(utc_now())


async def _find_children(world: World, mark: str) -> list[psutil.Process]:
    """Wait for descendants of the worker whose command line contains a text.

    Raises:
        NotStruck: none exists.
    """
    deadline = utc_now() + _WAIT_SECONDS
    while utc_now() < deadline and not world.run.done():
        if mark == _READER and world.count_requests():
            break  # the documents have been read
        if mark == _SANDBOX and not world.model.requests_of("coder"):
            await asyncio.sleep(_POLL_SECONDS)  # the worker may test its sandbox
            continue
        found = [child for child in list_descendants(world.worker.pid) if mark in _read_command(child)]
        if found:
            return found
        await asyncio.sleep(_POLL_SECONDS)
    raise NotStruck(f"no process with {mark!r}")


def _read_command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


async def _strike_children(
    world: World, chance: Random, mark: str, number: signal.Signals, seconds: float | None = None
) -> Struck:
    """Send a signal to child processes; after a stop, let them continue after some seconds."""
    deadline = utc_now() + _WAIT_SECONDS
    found: list[psutil.Process] = []
    while not found and utc_now() < deadline:
        found = await _find_children(world, mark)
        await asyncio.sleep(chance.uniform(0, _CHILD_SECONDS))
        found = [child for child in found if child.is_running()]
    found += [descendant for child in found for descendant in list_descendants(child.pid)]
    signal_all(found, number)
    if seconds is not None:
        await asyncio.sleep(seconds)
        signal_all(found, signal.SIGCONT)
    return Struck(utc_now())


# Connections


_PROXIES: Final[dict[str, Callable[[World], Proxy]]] = {
    "worker-server": lambda world: world.server_proxy,
    "client-server": lambda world: world.client_proxy,
    "worker-model": lambda world: world.model_proxy,
}
"""Proxies by the parts that they connect."""


async def _cut(world: World, chance: Random, between: str) -> Struck:
    _PROXIES[between](world).cut()
    return Struck(utc_now())


async def _half_close(world: World, chance: Random, between: str) -> Struck:
    _PROXIES[between](world).half_close()
    return Struck(utc_now())


async def _lose(world: World, chance: Random, between: str) -> Struck:
    _PROXIES[between](world).lose()
    return Struck(utc_now())


async def _stall(world: World, chance: Random, between: str) -> Struck:
    async with _PROXIES[between](world).stall():
        await asyncio.sleep(chance.uniform(*BRIEF))
    return Struck(utc_now())


async def _refuse(world: World, chance: Random, between: str) -> Struck:
    async with _PROXIES[between](world).refuse():
        await asyncio.sleep(chance.uniform(*BRIEF))
    return Struck(utc_now())


async def _drip(world: World, chance: Random, between: str) -> Struck:
    async with _PROXIES[between](world).drip(_DRIP_BYTES):
        await asyncio.sleep(BRIEF[1])
    return Struck(utc_now())


# Model server


async def _fail_call(world: World, chance: Random, fault: Fault) -> Struck:
    world.model.fail(fault)
    return Struck(utc_now())


_MODEL_FAULTS: Final = {
    "closed": Fault(drop=True),
    "reset": Fault(reset=True),
    "reset-mid-body": Fault(cut=True),
    "408": Fault(408, {"retry-after-ms": "50"}),
    "409": Fault(409, {"retry-after-ms": "50"}),
    "429": Fault.too_many(retry_after="1"),
    "500": Fault(500),
    "503": Fault(503, {"retry-after": "1"}),
    "failed": Fault.failed(),
    "half-body": Fault.broken_body(),
    "truncated-json": Fault.truncated(),
    "wrong-schema": Fault.wrong_schema(),
    "no-choices": Fault.no_choices(),
    "empty-body": Fault(mangle=lambda body: ""),
    "web-page": Fault.web_page(),
    "no-answer": Fault(hangs=True),
    "delay": Fault(delay=2.0),
}
"""Failures of the model server for one request."""


# Disk and clock


async def _wait_for_ingestion(world: World, folder: str) -> None:
    """Wait for the first time at which a run writes to the knowledge base."""
    if folder == "knowledge":
        await _find_children(world, _READER)


async def _fill(world: World, chance: Random, folder: str) -> Struck:
    await _wait_for_ingestion(world, folder)
    with disk.full(getattr(world, folder)):
        await asyncio.sleep(chance.uniform(*BRIEF))
    return Struck(utc_now())


async def _write_protect(world: World, chance: Random, folder: str, *, kills: bool = False) -> Struck:
    await _wait_for_ingestion(world, folder)
    pid = world.worker.pid if kills else None
    with disk.read_only(getattr(world, folder)):
        if kills:
            world.worker.send(signal.SIGKILL)
        await asyncio.sleep(chance.uniform(*BRIEF))
    return Struck(utc_now(), pid)


async def _step_clock(world: World, chance: Random) -> Struck:
    """Set the worker's clock forwards or backwards, until another step."""
    world.set_clock(chance.choice((-86_400, -3600, -5, 5, 3600, 86_400)))
    return Struck(utc_now())


# Files


def damage_file(path: Path, chance: Random) -> None:
    """Truncate a file, or invert bits in some of its bytes."""
    content = bytearray(path.read_bytes())
    if chance.random() < 0.5:
        content = content[: len(content) // 2]
    else:
        for at in chance.sample(range(len(content)), max(1, len(content) // 50)):
            content[at] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def _choose_file(folder: Path, pattern: str, chance: Random) -> Path:
    """Return a file that matches a pattern.

    Raises:
        NotStruck: none exists.
    """
    found = sorted(path for path in folder.glob(pattern) if path.is_file() and path.stat().st_size)
    if not found:
        raise NotStruck(f"no file {pattern}")
    return chance.choice(found)


async def _damage_cache(world: World, chance: Random, pattern: str) -> Struck:
    """Damage the embedding cache of an earlier run, before the run starts."""
    if world.earlier_knowledge is None:
        raise NotStruck("no earlier run")
    name = "embedding_cache.lance"
    shutil.copytree(world.earlier_knowledge / name, world.knowledge / name)
    damage_file(_choose_file(world.knowledge / name, pattern, chance), chance)
    return Struck(None)


async def _damage_counters(world: World, chance: Random) -> Struck:
    """Damage the file of the search statistics, and restart the worker, which has it open."""
    damage_file(_choose_file(world.home, "searches.db", chance), chance)
    return await _kill_worker(world, chance)


async def _damage_table(world: World, chance: Random, pattern: str) -> Struck:
    """Damage a file of a table, and restore it as a person does after the error message or after a while."""
    path = _choose_file(world.knowledge, pattern, chance)
    content = path.read_bytes()
    damage_file(path, chance)
    deadline = utc_now() + BRIEF[1]
    while utc_now() < deadline:
        if await world.has_failure("cannot be read"):
            break
        await asyncio.sleep(_POLL_SECONDS)
    path.write_bytes(content)
    return Struck(utc_now())


# Completions


async def _complete_late(world: World, chance: Random, *, twice: bool) -> Struck:
    """Kill the worker, take its call as another worker, let it time out, and report a false result, once or twice.

    Raises:
        NotStruck: there was no call to take.
        Unprotected: the server accepted the result.
    """
    service = world.client.workflow_service
    queue = TaskQueue(name=MODEL_QUEUE)
    described = await service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace="default", task_queue=queue, task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY
        )
    )
    poll = PollActivityTaskQueueRequest(namespace="default", task_queue=queue, identity="drill")
    for poller in described.pollers:
        poll.deployment_options.CopyFrom(poller.deployment_options)
    async with world.worker.absent():
        taken = await service.poll_activity_task_queue(poll)
    if not taken.task_token:
        raise NotStruck("no model call was waiting")
    since = utc_now()
    await asyncio.sleep(LONG_SECONDS)
    false_result = Payloads(payloads=[Payload(metadata={"encoding": b"json/plain"}, data=b'{"output": "false"}')])
    for _ in range(2 if twice else 1):
        try:
            await service.respond_activity_task_completed(
                RespondActivityTaskCompletedRequest(task_token=taken.task_token, result=false_result, identity="drill")
            )
        except RPCError as error:
            if error.status != RPCStatusCode.NOT_FOUND:
                raise
        else:
            raise Unprotected("a late result was accepted")
    return Struck(since)


def list_faults() -> tuple[DrillFault, ...]:
    """Return all faults. A drill of upgrades adds its own by starting `World.worker` with another command."""
    return (
        *_list_process_faults(),
        *_list_connection_faults(),
        *(DrillFault(f"model: {name}", partial(_fail_call, fault=fault)) for name, fault in _MODEL_FAULTS.items()),
        *_list_disk_faults(),
        DrillFault("clock: step", _step_clock, needs_clock=True, weight=4),
        *_list_file_faults(),
        DrillFault("completion: late", partial(_complete_late, twice=False)),
        DrillFault("completion: late and twice", partial(_complete_late, twice=True)),
    )


def _list_process_faults() -> list[DrillFault]:
    long = (LONG_SECONDS, LONG_SECONDS)
    found = [
        DrillFault("worker: kill", _kill_worker, weight=16),
        DrillFault("worker: stop briefly", partial(_stop_worker, seconds=BRIEF), weight=2),
        DrillFault("worker: stop, continue after the time-out", partial(_stop_worker, seconds=long)),
        DrillFault("worker: stop for ever, replaced", partial(_freeze_worker, continues=False)),
        DrillFault("worker: stop, replaced, continues later", partial(_freeze_worker, continues=True)),
        DrillFault("server: kill", _kill_server, weight=4),
        DrillFault("server: stop briefly", partial(_stop_server, kills=False), weight=2),
        DrillFault("server: stop, then kill", partial(_stop_server, kills=True)),
    ]
    children: tuple[tuple[Moment, str, RunKind], ...] = (("reader", _READER, "research"), ("sandbox", _SANDBOX, "code"))
    for name, mark, kind in children:
        kill = partial(_strike_children, mark=mark, number=signal.SIGKILL)
        stop = partial(_strike_children, mark=mark, number=signal.SIGSTOP)
        found += [
            DrillFault(f"{name}: kill", kill, name, (kind,), weight=2),
            DrillFault(f"{name}: stop briefly", partial(stop, seconds=2.0), name, (kind,)),
            DrillFault(f"{name}: stop for ever", stop, name, (kind,)),
        ]
    return found


def _list_connection_faults() -> list[DrillFault]:
    found = [
        DrillFault("worker-server: lose", partial(_lose, between="worker-server")),
        DrillFault("worker-model: lose", partial(_lose, between="worker-model")),
        DrillFault("worker-model: drip", partial(_drip, between="worker-model")),
    ]
    for between in _PROXIES:
        found += [
            DrillFault(f"{between}: cut", partial(_cut, between=between), weight=3),
            DrillFault(f"{between}: stall", partial(_stall, between=between)),
            DrillFault(f"{between}: half-close", partial(_half_close, between=between)),
            DrillFault(f"{between}: refuse", partial(_refuse, between=between)),
        ]
    return found


def _list_disk_faults() -> list[DrillFault]:
    both = partial(_write_protect, folder="home", kills=True)
    found = [DrillFault("disk: home read-only, worker killed", both, needs_mounts=True)]
    everywhere: tuple[tuple[str, Moment, tuple[RunKind, ...]], ...] = (
        ("home", "call", ("research", "code")),
        ("knowledge", "ingest", ("research",)),
    )
    for folder, moment, kinds in everywhere:
        fill, protect = partial(_fill, folder=folder), partial(_write_protect, folder=folder)
        found += [
            DrillFault(f"disk: {folder} full", fill, moment, kinds, needs_mounts=True, weight=2),
            DrillFault(f"disk: {folder} read-only", protect, moment, kinds, needs_mounts=True, weight=2),
        ]
    return found


def _list_file_faults() -> list[DrillFault]:
    research: tuple[RunKind, ...] = ("research",)
    cache, manifest = partial(_damage_cache, pattern="data/*"), partial(_damage_cache, pattern="_versions/*")
    table, index = partial(_damage_table, pattern="*/data/*.lance"), partial(_damage_table, pattern="*/_indices/*/*")
    return [
        DrillFault("files: embedding cache", cache, "start", research, weight=2),
        DrillFault("files: manifest of the cache", manifest, "start", research),
        DrillFault("files: search statistics", _damage_counters, kinds=research),
        DrillFault("files: table data", table, kinds=research, weight=2),
        DrillFault("files: index", index, kinds=research),
    ]
