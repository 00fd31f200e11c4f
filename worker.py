"""Serve the task queues: build clients from the settings, activities on the clients, and one Worker per queue.

Start it as `python worker.py`; `--queues` serves only some of the task queues. With `--versioned` or `--make-current`
it takes part in Worker Versioning (`tenure/temporal/deployment.py`).
"""

import gc
import os
import sys

if __name__ == "__main__":
    # Matrices of the activities are small: more threads of BLAS take a sixth of the processor time waiting for work.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Collections during the imports find nothing and take a sixth of their time; `serve` turns them on again.
    gc.disable()
    # As for the workflow runner below: without byte code a second start compiles every module again.
    sys.dont_write_bytecode = False

import argparse
import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import structlog
from pydantic import ValidationError
from pydantic_settings import SettingsError
from temporalio.client import Client
from temporalio.worker import (
    PollerBehaviorAutoscaling,
    Worker,
)

from activities.archive import ArchiveActivities, Archiver
from activities.code_index import CodeIndexActivities
from activities.commands import CommandActivities
from activities.heartbeat import CLUSTER_THROTTLE_SHARE, LOCAL_HEARTBEAT_THROTTLE, HeartbeatThrottleInterceptor
from activities.knowledge import KnowledgeActivities
from activities.mcp import McpActivities
from activities.notifications import NotificationActivities
from activities.report import ReportActivities
from activities.roles import RoleActivities
from activities.sandbox import SandboxActivities
from activities.tools import ToolActivities
from activities.web import BrowserActivities, WebActivities
from activities.workspaces import WorkspaceActivities
from tenure.contracts.messages import Tier
from tenure.document_roots import DocumentRoots
from tenure.files.file_store import FileStore
from tenure.knowledge.deferred import Deferred, prepare_fetching, prepare_knowledge
from tenure.knowledge.store.errors import StoreUnreachable
from tenure.local_models.choice import check_model_choice, choose_model
from tenure.local_models.errors import LocalModelError
from tenure.logs import configure_logging
from tenure.metrics import MetricRecorder
from tenure.models.chat import ChatModel
from tenure.models.factory import create_chat_model, create_embedding_model
from tenure.notifications import Notifier
from tenure.private_files import PRIVATE_UMASK, make_private
from tenure.repositories.copies import Copies
from tenure.repositories.environments import Environments
from tenure.repositories.patches import SharedPatches
from tenure.repositories.project_tests import ProjectTests
from tenure.repositories.workspaces import Workspaces
from tenure.roles.registry import load_roles
from tenure.sandbox.base import SandboxError
from tenure.sandbox.choice import make_sandbox
from tenure.sandbox.engine import ContainedSandbox
from tenure.settings import Settings, describe_settings_error
from tenure.settings.home import HomeSettings
from tenure.settings.models import ChatModelSettings
from tenure.settings.worker import SandboxSettings, WorkerSettings
from tenure.sources.fetch.address_guard import AddressGuard
from tenure.sources.fetch.browser import Browser, create_browser
from tenure.sources.fetch.fetcher import Fetcher, create_fetcher
from tenure.sources.mcp.servers import McpServers
from tenure.sources.search.federated import FederatedSearch
from tenure.temporal.answer_cipher import CodecCipher
from tenure.temporal.blocked_runs import prevent_blocking
from tenure.temporal.codec_server import serve_while_needed
from tenure.temporal.connection import ServerUnreachable, get_local_address
from tenure.temporal.deployment import (
    VersioningRefused,
    check_version,
    is_earlier_version,
    make_current,
    make_deployment_config,
)
from tenure.temporal.health.http_server import serve_health
from tenure.temporal.health.monitor import WorkerMonitor
from tenure.temporal.namespace_binding import NamespaceTaken
from tenure.temporal.owners import connect_owners
from tenure.temporal.schedules import schedule_upkeep
from tenure.temporal.shutdown import (
    SHUTDOWN_MARGIN_SECONDS,
    end_process,
    limit_shutdown,
    stop_workers,
    wait_for_stop,
)
from tenure.temporal.stack.source import get_build_id
from tenure.temporal.telemetry import create_worker_runtime
from tenure.temporal.worker_monitor import monitor_worker
from tenure.tracing.configuration import TracingUnavailable, configure_tracing
from workflows.plugin import WORKFLOWS, create_plugin, follow_current_version
from workflows.runtime.activity_options import ACTIVITY_OPTIONS
from workflows.runtime.heartbeat_timeout import HeartbeatTimeoutInterceptor
from workflows.runtime.observation import ObservationInterceptor, configure_sdk_loggers
from workflows.runtime.task_queues import (
    ALL_QUEUES,
    BROWSER_QUEUE,
    EMBED_QUEUE,
    INGEST_QUEUE,
    MODEL_QUEUE,
    SANDBOX_QUEUE,
    TENURE_QUEUE,
    WEB_QUEUE,
)

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase
    from tenure.models.openai.backend import OpenAIBackend
    from tenure.tracing.tracer import Tracer

GRACEFUL_SHUTDOWN_TIMEOUT = timedelta(seconds=10)
"""Time that activities may continue after the worker is asked to stop; calls of models and MCP servers have the time of
the settings, since they are paid or cannot be repeated."""

UNREACHABLE_EXIT_CODE = 4
"""Exit code if the Temporal server or the knowledge base is unreachable."""

MAX_WORKFLOW_TASK_SECONDS = 8
"""Time after which a workflow task that does not yield counts as a deadlock, less than the server's ten seconds.

A run that receives 10,000 signals in one workflow task needs about a second of the processor, most of it in the SDK. On
a busy machine that exceeds the SDK's own two seconds, and every repetition of the task does so as well.
"""

_ACTIVITY_THREADS = 8

_MAX_INGEST_ACTIVITIES = 4
"""Concurrent readings of documents and tables: they need the CPU and much memory."""

_MAX_EMBED_ACTIVITIES = 2
"""Concurrent activities without a person who waits."""

_MAX_WORKFLOW_TASKS = 2 * max(2, os.cpu_count() or 1)
"""Concurrent workflow tasks: they need the CPU, and a task that waits too long for it is repeated."""

_MAX_WEB_ACTIVITIES = 32
"""Concurrent web activities: they wait for servers and need no thread."""

_MAX_BROWSER_ACTIVITIES = 1
"""Concurrent requests to render pages; each may render several."""

_MAX_SANDBOX_ACTIVITIES = max(1, min(4, os.cpu_count() or 1))
"""Concurrent programs: they need the CPU."""


def build_activities(
    chat: ChatModel | None,
    knowledge: "KnowledgeBase",
    notifier: Notifier | None = None,
    roots: DocumentRoots | None = None,
    identify: Callable[[str, Tier], str] | None = None,
    offline: Collection[str] = (),
) -> dict[str, list[Callable[..., Any]]]:
    """Return all activities that need neither a sandbox nor the web, by task queue.

    Without `roots`, they ingest the manual of this installation and nothing else; without `identify`, no answer of a
    model is cached. The roles in `offline` ask no model.
    """
    roles = RoleActivities(chat, knowledge, identify, offline)
    by_queue: dict[str, list[Callable[..., Any]]] = {MODEL_QUEUE: [roles.build(role) for role in load_roles().values()]}
    for method in collect_activities(
        KnowledgeActivities(knowledge, roots or DocumentRoots()),
        ToolActivities(knowledge),
        ReportActivities(knowledge),
        NotificationActivities(notifier or Notifier()),
    ):
        by_queue.setdefault(ACTIVITY_OPTIONS[method.__name__]["task_queue"] or "", []).append(method)
    return by_queue


def collect_activities(*objects: object) -> list[Callable[..., Any]]:
    """Return all activities among the methods of some objects."""
    methods = (getattr(item, name) for item in objects for name in dir(type(item)) if not name.startswith("_"))
    return [method for method in methods if hasattr(method, "__temporal_activity_definition")]


async def find_usable_sandbox(settings: SandboxSettings) -> ContainedSandbox | None:
    """Return the sandbox of this machine, or log the reason and return None if its self-test fails."""
    try:
        box = make_sandbox(settings)
        self_test = await box.check()
    except SandboxError as error:
        structlog.get_logger().warning("this worker runs no programs", why=str(error))
        return None
    if not self_test.usable:
        structlog.get_logger().warning("this worker runs no programs", why=self_test.message)
        return None
    structlog.get_logger().info("programs run in a sandbox", sandbox=self_test.message)
    return box


def make_roots(settings: HomeSettings) -> DocumentRoots:
    """Return the document roots of an owner."""
    return DocumentRoots(settings.document_roots, settings.home, settings.owner)


def make_workspaces(settings: HomeSettings, knowledge: "KnowledgeBase", store: FileStore | None) -> Workspaces:
    """Return the workspaces of an owner; a worker that runs only programs has an object store or no other machine."""
    home = settings.owner_home
    patches = SharedPatches(store) if store else Deferred(lambda: knowledge.patches).proxy
    return Workspaces(home, patches, Copies(home / "repositories", store))


def make_command_activities(
    settings: SandboxSettings, box: ContainedSandbox, workspaces: Workspaces
) -> CommandActivities:
    """Return the activities on commands in the workspaces of an owner."""
    environments = Environments(settings.owner_home, box, workspaces, settings.setup_variables)
    return CommandActivities(box, workspaces, environments, ProjectTests(box, workspaces, environments))


def _prepare_archiver(client: Client, knowledge: "KnowledgeBase") -> Archiver:
    def create() -> Archiver:
        from tenure.temporal.archive.archiver import RunArchiver

        return RunArchiver(client, knowledge.runs)

    return Deferred(create).proxy


class SharedClients(NamedTuple):
    """Threads, models and web clients that the workers of all owners share, within the limits of this process."""

    threads: ThreadPoolExecutor
    chat: "OpenAIBackend | None"
    engines: FederatedSearch
    visitor: Fetcher
    chromium: Browser | None


def build_workers(
    client: Client,
    settings: Settings,
    queues: Sequence[str],
    knowledge: "KnowledgeBase",
    shared: SharedClients,
    **options: Any,
) -> list[Worker]:
    """Return one worker per queue except the sandbox queue, for one owner.

    `knowledge` is not used before the first activity: it may be a proxy of one that is still being opened.
    """
    threads, chat, engines, visitor, chromium = shared
    identify = chat.identify if chat and settings.answer_cache_megabytes else None
    methods = build_activities(
        chat, knowledge, Notifier.from_settings(settings), make_roots(settings), identify, settings.offline_roles
    )
    lasts = timedelta(hours=settings.page_ttl_hours)
    mcp = McpActivities(McpServers(settings.mcp_servers, timeout_seconds=settings.mcp_seconds), knowledge)
    methods[WEB_QUEUE] = collect_activities(WebActivities(engines, prepare_fetching(knowledge, visitor, lasts)), mcp)
    pages = None if chromium is None else prepare_fetching(knowledge, chromium, lasts, refetch=True)
    methods[BROWSER_QUEUE] = collect_activities(BrowserActivities(pages))
    methods[TENURE_QUEUE] += collect_activities(ArchiveActivities(_prepare_archiver(client, knowledge)))
    rate = {MODEL_QUEUE: settings.model_calls_per_second} if settings.has_model else {}
    throttle = choose_heartbeat_throttle(client, settings)
    return [
        Worker(
            client,
            task_queue=queue,
            workflows=WORKFLOWS if queue == TENURE_QUEUE else [],
            activities=methods[queue],
            activity_executor=threads,
            max_concurrent_activities=choose_max_activities(settings, queue),
            max_concurrent_workflow_tasks=_MAX_WORKFLOW_TASKS,
            max_task_queue_activities_per_second=rate.get(queue),
            workflow_task_poller_behavior=PollerBehaviorAutoscaling(),
            activity_task_poller_behavior=PollerBehaviorAutoscaling(),
            graceful_shutdown_timeout=choose_shutdown_timeout(settings, queue),
            max_heartbeat_throttle_interval=throttle,
            interceptors=[
                HeartbeatTimeoutInterceptor(settings.heartbeat_seconds),
                HeartbeatThrottleInterceptor(throttle),
            ],
            plugins=[create_plugin()],
            **options,
        )
        for queue in queues
        if queue != SANDBOX_QUEUE
    ]


def choose_max_activities(settings: ChatModelSettings, queue: str) -> int:
    """Return the number of activities of a queue that this worker executes concurrently.

    Model calls wait for the network: as many as the model server accepts, so that few of them hold a slot only to wait
    for it. Web activities wait as well. All others need the CPU. The threads of a worker are as many as its slots, so
    that no queue waits for the threads of another.
    """
    if queue == MODEL_QUEUE and settings.has_model:
        return settings.model_concurrency
    return {
        WEB_QUEUE: _MAX_WEB_ACTIVITIES,
        BROWSER_QUEUE: _MAX_BROWSER_ACTIVITIES,
        INGEST_QUEUE: _MAX_INGEST_ACTIVITIES,
        EMBED_QUEUE: _MAX_EMBED_ACTIVITIES,
    }.get(queue, _ACTIVITY_THREADS)


def choose_heartbeat_throttle(client: Client, settings: WorkerSettings) -> timedelta:
    """Return the interval in which heartbeats are sent."""
    is_local = client.service_client.config.target_host == get_local_address(settings)
    return (
        LOCAL_HEARTBEAT_THROTTLE if is_local else CLUSTER_THROTTLE_SHARE * timedelta(seconds=settings.heartbeat_seconds)
    )


def choose_shutdown_timeout(settings: WorkerSettings, queue: str) -> timedelta:
    """Return the time that the activities of a queue may continue after the worker is asked to stop."""
    if queue in (MODEL_QUEUE, WEB_QUEUE):
        return timedelta(seconds=settings.shutdown_seconds)
    return min(GRACEFUL_SHUTDOWN_TIMEOUT, timedelta(seconds=settings.shutdown_seconds))


def start_tracing() -> "Tracer | None":
    """Return the tracer that the environment configures, or None after a log line if traces cannot be sent."""
    try:
        return configure_tracing()
    except TracingUnavailable as error:
        structlog.get_logger().warning("no traces are sent", why=str(error))
        return None


def prepare_home(home: Path) -> None:
    """Keep files of this process from other users, and remove their permissions from an existing home."""
    os.umask(PRIVATE_UMASK)
    try:
        corrected = make_private(home)
    except OSError as error:
        structlog.get_logger().warning("the home's permissions cannot be corrected", why=str(error))
        return
    if corrected:
        structlog.get_logger().warning("the home was open to other users; it is private now", corrected=corrected)


async def serve(
    settings: Settings, queues: Sequence[str], build_id: str = "", *, becomes_current: bool = False
) -> None:
    """Serve the queues until the process receives a signal to stop.

    A worker without versioning has no build id. If the version becomes current, new runs use it once the server accepts
    it, unless another version has replaced it: a worker that starts again in a rolling update or after a crash takes
    nothing back.

    Raises:
        VersioningRefused: the server has no Worker Versioning, or does not allow the change.
        NamespaceTaken: the workers of the namespace have another knowledge base.
        ServerUnreachable: the server does not answer, or has none of the namespaces.
        StoreUnreachable: the knowledge base cannot be reached.
    """
    stop = asyncio.Event()

    def request_stop() -> None:
        stop.set()
        limit_shutdown(settings.shutdown_seconds + SHUTDOWN_MARGIN_SECONDS)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, request_stop)
    runtime, tracer = create_worker_runtime(settings), start_tracing()
    recorder = MetricRecorder(runtime.metric_meter)
    observation = ObservationInterceptor(recorder, tracer)
    # The worker acts for every owner, and not for that of a command.
    prepare_home(settings.home.absolute())
    # A worker that runs only programs has no knowledge base.
    owners = await connect_owners(settings, runtime, [observation], binds=set(queues) != {SANDBOX_QUEUE})
    clients = [client for _, client in owners]
    # Threads are started when they are needed; model calls need none.
    max_threads = len(owners) * sum(choose_max_activities(settings, queue) for queue in queues)
    with ThreadPoolExecutor(max_workers=max_threads, thread_name_prefix="activity") as threads:
        async with AsyncExitStack() as running:
            if tracer is not None:
                running.callback(tracer.close)
            await running.enter_async_context(monitor_worker(clients, settings, recorder, runtime.metric_meter, queues))
            monitor = await running.enter_async_context(WorkerMonitor())
            running.enter_context(serve_health(settings, monitor))
            shared = await running.enter_async_context(_open_clients(settings, threads))
            if build_id:
                follow_current_version()
            versioning = {"deployment_config": make_deployment_config(build_id)} if build_id else {}
            # Workers of programs may not ask: their gate allows polling only.
            asks = bool(build_id) and (becomes_current or TENURE_QUEUE in queues)
            earlier = {client for client in clients if asks and await is_earlier_version(client, build_id)}
            embedding = Deferred(partial(create_embedding_model, settings))
            # The workers poll meanwhile; a task that needs the knowledge base waits for it. This version gets new runs
            # after all of these steps.
            preparations: list[Awaitable[object]] = []
            workers: list[Worker] = []
            served_owners: list[tuple[Settings, Client, KnowledgeBase]] = []
            for own, client in owners:
                cipher = CodecCipher.from_settings(own)
                knowledge = prepare_knowledge(own, recorder, cipher, make_roots(own).select, embedding.get)
                served_owners.append((own, client, knowledge.proxy))
                built = build_workers(client, own, queues, knowledge.proxy, shared, **versioning)
                await running.enter_async_context(_run_workers(client, built))
                monitor.watch(built)
                _log_serving(built, own, build_id)
                workers += built
                preparations += [asyncio.to_thread(knowledge.get)] if built else []
                preparations += (
                    [schedule_upkeep(client, own)] if TENURE_QUEUE in queues and client not in earlier else []
                )
            if SANDBOX_QUEUE in queues:
                preparations.append(
                    _serve_programs(settings, served_owners, running, monitor, workers, build_id, versioning)
                )
            await asyncio.gather(*preparations)
            # Imported modules stay in memory: exclude them from collections in the middle of a workflow task.
            gc.freeze()
            gc.enable()
            served = list(dict.fromkeys(worker.task_queue for worker in workers))
            routing = (
                # This process serves all that it can; workers of some queues wait for the workers of the others.
                make_current(client, build_id, served, complete=set(queues) == set(ALL_QUEUES))
                if becomes_current and client not in earlier
                else check_version(client, build_id, served, has_versioning=settings.worker_versioning)
                for client in clients
            )
            await wait_for_stop(stop, *routing, serve_while_needed(settings))
            structlog.get_logger().info("worker is stopping")
            monitor.stop()
            if not await stop_workers(workers):
                end_process()


@asynccontextmanager
async def _open_clients(settings: Settings, threads: ThreadPoolExecutor) -> AsyncIterator[SharedClients]:
    """Yield the clients that all owners share, and close them afterwards."""
    async with AsyncExitStack() as opened:
        engines, visitor, chromium = (
            FederatedSearch.from_settings(settings),
            create_fetcher(settings),
            create_browser(settings),
        )
        for client in (engines, visitor, chromium):
            if client is not None:
                opened.push_async_callback(client.aclose)
        yield SharedClients(threads, create_chat_model(settings), engines, visitor, chromium)


@asynccontextmanager
async def _run_workers(client: Client, workers: Sequence[Worker]) -> AsyncIterator[None]:
    """Run the workers of an owner, and end workflows that block them."""
    async with AsyncExitStack() as running:
        await running.enter_async_context(prevent_blocking(client, TENURE_QUEUE))
        for worker in workers:
            extend_workflow_tasks(worker)
            await running.enter_async_context(worker)
        yield


async def _serve_programs(
    settings: SandboxSettings,
    owners: "Sequence[tuple[Settings, Client, KnowledgeBase]]",
    running: AsyncExitStack,
    monitor: WorkerMonitor,
    workers: list[Worker],
    build_id: str,
    versioning: Mapping[str, Any],
) -> None:
    """Serve the sandbox queue of all owners if its self-test succeeds, and add its workers to the others."""
    if box := await find_usable_sandbox(settings):
        for own, client, knowledge in owners:
            store = FileStore(own.files_uri, own.owner) if own.files_uri else None
            roots = make_roots(own)
            workspaces = make_workspaces(own, knowledge, store)
            guard = AddressGuard(own.fetch_allow, own.fetch_domains, own.fetch_deny)
            programs = Worker(
                client,
                task_queue=SANDBOX_QUEUE,
                activities=collect_activities(
                    SandboxActivities(box, own.owner_home / "artifacts", store, roots),
                    WorkspaceActivities(workspaces, roots, guard),
                    make_command_activities(own, box, workspaces),
                    CodeIndexActivities(workspaces, knowledge),
                ),
                max_concurrent_activities=_MAX_SANDBOX_ACTIVITIES,
                graceful_shutdown_timeout=choose_shutdown_timeout(own, SANDBOX_QUEUE),
                max_heartbeat_throttle_interval=choose_heartbeat_throttle(client, own),
                activity_task_poller_behavior=PollerBehaviorAutoscaling(),
                plugins=[create_plugin()],
                **versioning,
            )
            workers.append(await running.enter_async_context(programs))
            monitor.watch([programs])
            _log_serving([programs], own, build_id)


def _log_serving(workers: Sequence[Worker], settings: HomeSettings, build_id: str) -> None:
    if workers:
        names = {"home": str(settings.home.absolute()), "owner": settings.owner or None, "version": build_id or None}
        queues = [worker.task_queue for worker in workers]
        structlog.get_logger().info("worker is serving", queues=queues, **names)


def extend_workflow_tasks(worker: Worker) -> None:
    """Allow workflow tasks of a worker more time than the SDK does, which has no option for it."""
    workflows = worker._workflow_worker
    if workflows is not None:
        assert hasattr(workflows, "_deadlock_timeout_seconds"), "the SDK has another name for it"
        workflows._deadlock_timeout_seconds = MAX_WORKFLOW_TASK_SECONDS


def parse_queues(value: str) -> list[str]:
    """Parse a comma-separated list of queues without duplicates.

    Raises:
        argparse.ArgumentTypeError: a name is not a queue.
    """
    names = list(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    unknown = [name for name in names if name not in ALL_QUEUES]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"no queue {', '.join(unknown) or value!r}; there are {', '.join(ALL_QUEUES)}")
    return names


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="worker.py", description="Serve Tenure's task queues.")
    parser.add_argument("--queues", type=parse_queues, default=list(ALL_QUEUES), metavar="NAME[,NAME…]")
    parser.add_argument(
        "--versioned", action="store_true", help="serve only the runs that began under this version of the code"
    )
    parser.add_argument(
        "--make-current",
        action="store_true",
        help="with --versioned, which it implies: new runs use this version as soon as its workers serve all queues, "
        "unless a later version has replaced it",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the worker; return the process's exit code."""
    chosen = build_parser().parse_args(argv)
    try:
        settings = choose_model(Settings())
        check_model_choice(settings)
        configure_logging(settings.log_level, settings.log_format)
        configure_sdk_loggers()
        is_versioned = settings.worker_versioning and (chosen.versioned or chosen.make_current)
        build_id = get_build_id() if is_versioned else ""
        becomes_current = is_versioned and chosen.make_current
        asyncio.run(serve(settings, chosen.queues, build_id, becomes_current=becomes_current))
    except (ServerUnreachable, StoreUnreachable, VersioningRefused, NamespaceTaken, LocalModelError) as error:
        print(f"error: {error}", file=sys.stderr)
        return UNREACHABLE_EXIT_CODE
    except (ValidationError, SettingsError) as error:
        print(f"error: {describe_settings_error(error)}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"error: the settings are not valid: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    if code == UNREACHABLE_EXIT_CODE:
        # Without the interpreter's shutdown: after a failed connection the SDK's threads can bring it down.
        os._exit(code)
    sys.exit(code)
