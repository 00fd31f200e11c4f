"""Shared fixtures: one real Temporal server per test process, and workers that serve a small world."""

import asyncio
import contextlib
import functools
import gc
import importlib
import inspect
import logging
import os
import signal
import ssl
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, Protocol

import httpx
import pytest
import structlog
from _pytest.assertion.rewrite import AssertionRewritingHook
from hypothesis import HealthCheck, settings
from pydantic import BaseModel
from temporalio.client import Client, WorkflowHandle, WorkflowHistory
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner
from temporalio.worker._workflow_instance import WorkflowInstance, WorkflowInstanceDetails
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.worker.workflow_sandbox._importer import Importer
from temporalio.worker.workflow_sandbox._runner import _Instance

from activities.archive import ArchiveActivities
from activities.heartbeat import LOCAL_HEARTBEAT_THROTTLE
from activities.sandbox import SandboxActivities
from activities.web import BrowserActivities
from tenure.contracts.result.ask import AskReply, AskRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunRequest
from tenure.document_roots import DocumentRoots
from tenure.knowledge.runs import ArchivedRuns
from tenure.knowledge.store.store import Store
from tenure.logs import QUIET_LIBRARIES
from tenure.models.chat import ChatModel
from tenure.notifications import Notifier
from tenure.sandbox.base import Sandbox
from tenure.temporal.archive.archiver import RunArchiver
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.namespace_binding import BINDING
from tests.support.histories import wait_until_archived
from tests.support.repositories.program_python import make_program_python
from tests.support.servers.temporal_server import limit_test, run_temporal_server
from tests.support.tiers import RUN_ALL, RUN_SLOW, add_options, deselect_other_tiers
from tests.support.workers import PatientWorker
from tests.support.worlds import MemoryKnowledge
from worker import build_activities, collect_activities
from workflows.plugin import WORKFLOWS, create_plugin, create_replayer, create_workflow_runner
from workflows.run.agent import AgentWorkflow
from workflows.run.ask import AskWorkflow
from workflows.runtime.activity_options import ACTIVITY_OPTIONS
from workflows.runtime.task_queues import BROWSER_QUEUE, SANDBOX_QUEUE, TENURE_QUEUE, WEB_QUEUE

# Generated cases take as long as they take: a busy machine is no bug. Only `--all` draws new ones in every run, so
# that a change is judged by the same cases as the change before it.
settings.register_profile(
    "tenure", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=not RUN_ALL
)
settings.load_profile("tenure")


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Restore the logging that a command or a worker in the process of the tests has configured."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in QUIET_LIBRARIES}
    yield
    if structlog.is_configured():
        logging.captureWarnings(False)
        root.handlers[:] = handlers
        root.setLevel(level)
        for name, before in levels.items():
            logging.getLogger(name).setLevel(before)
        structlog.reset_defaults()


# Rewriting the assertions of all test files takes 17 s of processor time; it is kept in `__pycache__`, whatever the
# environment says about bytecode.
sys.dont_write_bytecode = False

# Collections of garbage during the imports find nothing and take an eighth of their time.
gc.disable()

# Sandboxed programs of tests use the installed packages, so that no test waits for an environment.
os.environ.setdefault("TENURE_SANDBOX_PYTHON", str(make_program_python()))

# Collections of garbage are a tenth of the processor time of a Temporal server, which inherits this.
os.environ.setdefault("GOGC", "400")


def _copy_with_known_fields(model: BaseModel, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
    """Copy a model; Pydantic would silently add a misspelled name of a field to the copy."""
    unknown = set(update or ()) - type(model).model_fields.keys()
    if unknown:
        raise AttributeError(f"{type(model).__name__} has no field {', '.join(sorted(unknown))}")
    return _copy_model(model, update=update, deep=deep)


def _initialize_with_known_fields(model: BaseModel, /, **values: Any) -> None:
    """Initialize a model; contracts ignore unknown fields, since a newer client may send some."""
    fields = type(model).model_fields
    known = fields.keys() | {field.alias for field in fields.values()}
    if type(model).__module__.startswith("tenure.contracts") and not values.keys() <= known:
        raise AttributeError(f"{type(model).__name__} has no field {', '.join(sorted(values.keys() - known))}")
    _initialize_model(model, **values)


_copy_model, _initialize_model = BaseModel.model_copy, BaseModel.__init__
setattr(BaseModel, "model_copy", _copy_with_known_fields)  # noqa: B010 - the type checker allows no other signature
setattr(BaseModel, "__init__", _initialize_with_known_fields)  # noqa: B010


@functools.cache
def _default_ssl_context() -> ssl.SSLContext:
    return httpx.create_ssl_context()


def _share_ssl_context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    """Return one context for all HTTP clients of tests: reading the certificates takes 23 ms for each of hundreds."""
    if verify is True and cert is None and not os.environ.keys() & {"SSL_CERT_FILE", "SSL_CERT_DIR"}:
        return _default_ssl_context()
    return httpx.create_ssl_context(verify, cert, trust_env)


setattr(httpx._transports.default, "create_ssl_context", _share_ssl_context)  # noqa: B010 - it is no public name

ROOT = Path(__file__).parents[1]

EVERYWHERE = DocumentRoots([Path("/")])
"""Document roots of workers in tests of other subjects."""


# A process started in the background ignores SIGINT, and its children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Seconds between the cancellation of a test and the runner's own timeout.
CLEAN_UP_SECONDS = 15

ARCHIVE_SECONDS = 20
"""Time that the archiving of a test's runs may take after the test."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """In a process of pytest-xdist, import the tests from another place on than the other processes do.

    All processes import all tests at the same time. In a new checkout each would compile all of them and rewrite their
    assertions, 12 s of processor time; so each does a part, and finds the byte code of the other parts.
    """
    workerinput: dict[str, Any] | None = getattr(session.config, "workerinput", None)
    if workerinput is None or session.config.args != session.config.getini("testpaths"):
        return
    paths = sorted(Path(__file__).parent.rglob("test_*.py"))
    start = len(paths) * int(workerinput["workerid"].removeprefix("gw")) // int(workerinput["workercount"])
    for path in paths[start:] + paths[:start]:
        # The collection reports a module that cannot be imported, or that skips itself.
        with contextlib.suppress(Exception, pytest.skip.Exception):
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Exclude imported modules from garbage collections, as a worker does: workflow tasks must be fast."""
    gc.collect()
    gc.freeze()
    gc.enable()
    # All tests are imported. The workflow sandbox imports the workflows for each of theirs, and pytest's search for
    # modules with assertions, which comes first, takes a sixth of that time.
    sys.meta_path.sort(key=lambda finder: isinstance(finder, AssertionRewritingHook))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose a tier of tests."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Pass the tier on to the processes of pytest-xdist."""
    for tier in ("all", "slow"):
        if config.getoption(f"--{tier}"):
            os.environ[f"TENURE_TEST_{tier.upper()}"] = "1"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of the tier, and cancel a coroutine before its timeout, so that it cleans up.

    The runner's own timeout leaves a test without cleaning up: its workers would serve the queues of later tests.
    """
    deselect_other_tiers(config, items)
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            marker = item.get_closest_marker("timeout")
            limit = float(marker.args[0] if marker else item.config.getini("timeout"))
            item.obj = _cancelled_after(limit - CLEAN_UP_SECONDS, item.obj)


def _cancelled_after(seconds: float, test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def bounded(*args: Any, **kwargs: Any) -> None:
        async with limit_test(seconds):
            await test(*args, **kwargs)

    return bounded


@pytest.fixture(scope="session")
async def session_server() -> AsyncIterator[WorkflowEnvironment]:
    """Run a real Temporal server for this test process."""
    async with run_temporal_server() as environment:
        yield environment


@pytest.fixture
async def server(session_server: WorkflowEnvironment) -> AsyncIterator[WorkflowEnvironment]:
    """Return the server of this test process, bound to the knowledge base of no earlier test."""
    yield session_server
    with contextlib.suppress(RPCError):  # it was not bound
        await session_server.client.get_schedule_handle(BINDING).delete()


@pytest.fixture(params=[1000, 0] if RUN_ALL else [1000], ids=["cached", "replayed"] if RUN_ALL else ["cached"])
def cached_workflows(request: pytest.FixtureRequest) -> int:
    """Return the size of the workflow cache; with `--all` every test also runs without a cache."""
    return int(request.param)


class _SharedInstance(_Instance):
    """Workflow in the sandbox, whose files are those of all workflows of this process."""

    files: ClassVar[Importer | None] = None

    def _create_instance(self) -> None:
        self.importer = _SharedInstance.files = _SharedInstance.files or self.importer
        super()._create_instance()


class SharedSandbox(SandboxedWorkflowRunner):
    """The workflow sandbox, which loads the workflow files once a process: for every run it takes as long as the run.

    A worker without plugins shares them among its runs as well. Only one workflow may be executed at a time.
    """

    def create_instance(self, det: WorkflowInstanceDetails) -> WorkflowInstance:
        """Return a workflow in the sandbox."""
        return _SharedInstance(det, self.runner_class, self.restrictions)


def create_shared_sandbox() -> SharedSandbox:
    """Return the sandbox for a replay."""
    return SharedSandbox(restrictions=create_workflow_runner().restrictions)


class Serving(Protocol):
    """Serves a world with the real workflows and activities."""

    def __call__(
        self,
        chat: ChatModel | None,
        knowledge: MemoryKnowledge,
        box: Sandbox | None = None,
        web: Sequence[Callable[..., Any]] = (),
        notifier: Notifier | None = None,
        roots: DocumentRoots = EVERYWHERE,
        unserved: str = "",
        others: Sequence[object] = (),
    ) -> AbstractAsyncContextManager["Stage"]: ...


class Stage:
    """Workers that serve a world, and a way to start runs on them."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._started: list[WorkflowHandle[Any, Any]] = []

    async def start(self, request: RunRequest) -> WorkflowHandle[Any, Result]:
        """Start a run with an id of its own."""
        handle = await self.client.start_workflow(
            AgentWorkflow.run, request, id=f"test-{uuid.uuid4().hex[:8]}", task_queue=TENURE_QUEUE
        )
        self._started.append(handle)
        return handle

    async def ask(self, request: AskRequest) -> WorkflowHandle[Any, AskReply]:
        """Start the answering of a follow-up question."""
        handle = await self.client.start_workflow(
            AskWorkflow.run, request, id=f"test-{uuid.uuid4().hex[:8]}/ask", task_queue=TENURE_QUEUE
        )
        self._started.append(handle)
        return handle

    def adopt(self, handle: WorkflowHandle[Any, Any]) -> None:
        """Replay a run that the test has started itself."""
        self._started.append(handle)

    def forget(self) -> None:
        """Leave out the runs so far at the end: the test deletes their histories."""
        self._started.clear()

    async def replay(self) -> None:
        """Replay all of its runs with everything they began: a test that passes shows that they can be.

        With `--slow`, as in .ci/run, the workflow sandbox watches every replay.
        """
        if not self._started:
            return
        histories = [history for handle in self._started async for history in load_family(self.client, handle.id)]
        runner = create_shared_sandbox() if RUN_SLOW else UnsandboxedWorkflowRunner()
        await create_replayer(DATA_CONVERTER, runner).replay_workflows(_each(histories))

    async def terminate(self) -> None:
        """End the runs a failed test leaves open, which the workers of the next test would take up."""
        for handle in self._started:
            with contextlib.suppress(RPCError):  # it has ended already
                await handle.terminate("its test failed")


async def load_family(client: Client, workflow: str, run: str | None = None) -> AsyncIterator[WorkflowHistory]:
    """Yield the history of a run, its continuations, and those of its children."""
    history = await client.get_workflow_handle(workflow, run_id=run).fetch_history()
    yield history
    for event in history.events:
        if event.HasField("child_workflow_execution_started_event_attributes"):
            child = event.child_workflow_execution_started_event_attributes.workflow_execution
            async for one in load_family(client, child.workflow_id, child.run_id):
                yield one
        if event.HasField("workflow_execution_continued_as_new_event_attributes"):
            later = event.workflow_execution_continued_as_new_event_attributes.new_execution_run_id
            async for one in load_family(client, workflow, later):
                yield one


async def _each(histories: Sequence[WorkflowHistory]) -> AsyncIterator[WorkflowHistory]:
    for history in histories:
        yield history


def open_archive(folder: Path) -> ArchivedRuns:
    """Return the archive of the workers of a test with this folder."""
    return ArchivedRuns(Store(str(folder / "archive")))


@pytest.fixture
def serving(server: WorkflowEnvironment, cached_workflows: int, tmp_path: Path) -> Serving:
    """Return a context manager that serves a world with the real workflows and activities."""
    return serving_at(server.client, cached_workflows, tmp_path)


def serving_at(client: Client, cached_workflows: int, folder: Path) -> Serving:
    """Return a context manager that serves worlds at a server, and keeps what programs make in a folder."""

    @asynccontextmanager
    async def serve(
        chat: ChatModel | None,
        knowledge: MemoryKnowledge,
        box: Sandbox | None = None,
        web: Sequence[Callable[..., Any]] = (),
        notifier: Notifier | None = None,
        roots: DocumentRoots = EVERYWHERE,
        unserved: str = "",
        others: Sequence[object] = (),
    ) -> AsyncIterator[Stage]:
        methods = build_activities(chat, knowledge, notifier, roots)  # type: ignore[arg-type]
        methods[TENURE_QUEUE] += collect_activities(ArchiveActivities(RunArchiver(client, open_archive(folder))))
        if box:
            methods[SANDBOX_QUEUE] = collect_activities(SandboxActivities(box, folder / "artifacts"))
        for method in collect_activities(*others):
            methods.setdefault(ACTIVITY_OPTIONS[method.__name__]["task_queue"] or "", []).append(method)
        if web:
            methods[WEB_QUEUE] = [one for one in web if one.__name__ != "render_pages"]
            rendering = [one for one in web if one.__name__ == "render_pages"]
            methods[BROWSER_QUEUE] = rendering or collect_activities(BrowserActivities(None))
        with ThreadPoolExecutor(8) as threads:
            started: list[PatientWorker] = [
                PatientWorker(
                    client,
                    task_queue=queue,
                    workflows=WORKFLOWS if queue == TENURE_QUEUE else [],
                    activities=methods[queue],
                    activity_executor=threads,
                    max_cached_workflows=cached_workflows,
                    max_heartbeat_throttle_interval=LOCAL_HEARTBEAT_THROTTLE,
                    # The replay after the test runs the same code in the workflow sandbox.
                    plugins=[create_plugin()],
                )
                for queue in methods
                if queue != unserved
            ]
            for worker in started:
                await worker.__aenter__()
            stage = Stage(client)
            try:
                yield stage
                # The workers of another test could not read its requests.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(wait_until_archived(client), ARCHIVE_SECONDS)
            except BaseException:
                await stage.terminate()
                raise
            finally:
                # Whichever of them fails to stop, the others must not serve the next test.
                ends = await asyncio.gather(
                    *(worker.__aexit__(None, None, None) for worker in started), return_exceptions=True
                )
            if failed := [end for end in ends if end is not None]:
                raise failed[0]
            await stage.replay()

    return serve
