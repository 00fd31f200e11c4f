"""One run of a drill with everything around it: a Temporal server, a worker, a model server, and proxies between them.

Each run has a home and processes of its own, so every fault strikes exactly one run. Questions, documents and run ids
are the same in all worlds: runs of one kind send the same prompts, get the same answers and write the same rows.
"""

import asyncio
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

from benchmarks.support.drill import disk
from benchmarks.support.drill.accounting import Prompt
from benchmarks.support.drill.model import PromptModelServer
from benchmarks.support.drill.process import SupervisedProcess
from benchmarks.support.drill.proxy import Proxy
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.contracts.sandbox import InputFile
from tenure.settings import Settings
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.stack.server import build_command, find_binary
from tests.support.ports import free_ports
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

RunKind = Literal["research", "code"]

ROOT = Path(__file__).resolve().parents[3]
RUN_ID = "drill"
"""Id of the run of every world."""

MODEL_SECONDS = 8.0
"""Time limit of a model call."""
HEARTBEAT_SECONDS = 7.0
"""Heartbeat timeout of the worker, shorter than by default: a drill waits for it after every kill."""

_START_SECONDS = 90.0
_POLL_SECONDS = 0.02

_DOCUMENTS = {
    "bread.md": "# Bread\n\nBread is made from flour, water, salt and yeast.\n\n"
    "## Dough\n\nThe dough rests for a night.\n",
    "cheese.md": "# Cheese\n\nCheese is made from milk that rennet has curdled.\n\n"
    "## Ripening\n\nA wheel ripens for a year.\n",
    # The empty elements keep a reader busy for a second, so that a fault can strike it.
    "salt.html": "<html><body><h1>Salt</h1><p>Salt is won from sea water in shallow ponds.</p>"
    f"{'<span></span>' * 40_000}</body></html>",
}
_TESTS = InputFile(
    name="test_double.py",
    text="import time\n\nfrom solution import double\n\n\n"
    "def test_double():\n    time.sleep(2)\n    assert double(4) == 8\n",
)
_LIMITS = RunLimits(min_relevance=0.0, max_report_revisions=1, max_cycles=1, max_sections=2, effort="simple")


def write_documents(folder: Path) -> Path:
    """Write the documents that all runs read, and return their folder."""
    folder.mkdir(parents=True)
    for name, text in _DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def build_clock_library(folder: Path) -> Path | None:
    """Compile the library that shifts a process's wall clock, or return None without a C compiler."""
    compiler, library = shutil.which("cc"), folder / "clock.so"
    if compiler is None:
        return None
    source = Path(__file__).with_name("clock.c")
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source)]
    return library if subprocess.run(command, capture_output=True, check=False).returncode == 0 else None


@dataclass
class World:
    """A run, its processes and the connections between them."""

    kind: RunKind
    folder: Path
    documents: Path
    clock_library: Path | None
    known: "Counter[Prompt]" = field(default_factory=Counter)
    """Prompts of the undisturbed run of this kind."""
    earlier_knowledge: Path | None = None
    """Copy of the knowledge base of the undisturbed run."""
    prepare: "Callable[[World], Awaitable[None]] | None" = None
    """Action before the worker starts."""

    model: PromptModelServer = field(init=False)
    server: SupervisedProcess = field(init=False)
    worker: SupervisedProcess = field(init=False)
    server_proxy: Proxy = field(init=False)
    """Proxy between the worker and the Temporal server."""
    client_proxy: Proxy = field(init=False)
    """Proxy between the client and the Temporal server."""
    model_proxy: Proxy = field(init=False)
    """Proxy between the worker and the model server."""
    client: Client = field(init=False)
    """Client with a direct connection to the server."""
    run: "asyncio.Task[Result]" = field(init=False)

    @property
    def home(self) -> Path:
        """Home of worker and server."""
        return self.folder / "home"

    @property
    def knowledge(self) -> Path:
        """Folder of the knowledge base."""
        return self.folder / "knowledge"

    @property
    def clock(self) -> Path:
        """File with the seconds by which the worker's clock is shifted."""
        return self.folder / "clock"

    def set_clock(self, seconds: int) -> None:
        """Shift the worker's clock."""
        with self.clock.open("r+b") as file:
            file.write(seconds.to_bytes(8, sys.byteorder, signed=True))

    def count_requests(self) -> int:
        """Return the number of model calls so far."""
        return len(self.model.requests)

    def count_answers(self) -> int:
        """Return the number of model calls whose answer has arrived."""
        return sum(entry.delivered for entry in self.model.billed)

    async def reach(self, requests: int) -> None:
        """Wait until the run has sent this number of model calls or has ended."""
        await self._wait_until(lambda: self.count_requests() >= requests)

    async def reach_answers(self, answers: int) -> None:
        """Wait until this number of answers has arrived or the run has ended."""
        await self._wait_until(lambda: self.count_answers() >= answers)

    async def _wait_until(self, is_reached: Callable[[], bool]) -> None:
        while not is_reached():
            if self.run.done():
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def list_failures(self) -> list[str]:
        """Return the last errors of the activities that will be repeated."""
        found: list[str] = []
        async for execution in self.client.list_workflows('ExecutionStatus = "Running"'):
            described = await self.client.get_workflow_handle(execution.id, run_id=execution.run_id).describe()
            found += [
                f"{pending.activity_type.name}: {pending.last_failure.message}"
                for pending in described.raw_description.pending_activities
                if pending.last_failure.message
            ]
        return found

    async def has_failure(self, text: str) -> bool:
        """Return whether an activity that will be repeated has failed with this text."""
        return any(text in failure for failure in await self.list_failures())

    @asynccontextmanager
    async def open(self) -> AsyncIterator["World"]:
        """Start everything and the run."""
        async with AsyncExitStack() as stack:
            self._prepare_folders(stack)
            self.model = stack.enter_context(PromptModelServer(self.known))
            self.model.on("outliner", _outline("Bread", "Cheese"))
            self.model.on("coder", _write_program)
            port, metrics = free_ports(2)
            await self._open_proxies(stack, port)
            self.server = SupervisedProcess(
                self._build_server_command(port, metrics), _clean_environment(), self.folder, self.folder / "server.log"
            )
            self.worker = SupervisedProcess(
                [sys.executable, str(ROOT / "worker.py")],
                self._build_worker_environment(),
                self.folder,
                self.folder / "worker.log",
            )
            stack.push_async_callback(self.server.stop)
            await self.server.start()
            self.client = await connect(port)
            if self.prepare is not None:
                await self.prepare(self)
            stack.push_async_callback(self.worker.stop)
            await self.worker.start()
            self.run = asyncio.create_task(self._follow_run())
            stack.push_async_callback(_end_task, self.run)
            yield self

    def _prepare_folders(self, stack: AsyncExitStack) -> None:
        self.folder.mkdir(parents=True)
        self.clock.write_bytes(bytes(8))
        for folder in (self.home, self.knowledge):
            if disk.can_mount():
                disk.mount_folder(folder)
                stack.callback(disk.unmount_folder, folder)
            else:
                folder.mkdir()

    async def _open_proxies(self, stack: AsyncExitStack, server_port: int) -> None:
        model_port = int(self.model.base_url.rsplit(":", 1)[1].partition("/")[0])
        self.server_proxy, self.client_proxy = Proxy(server_port), Proxy(server_port)
        self.model_proxy = Proxy(model_port)
        for proxy in (self.server_proxy, self.client_proxy, self.model_proxy):
            await proxy.listen()
            stack.push_async_callback(proxy.close)

    def _build_server_command(self, port: int, metrics_port: int) -> list[str]:
        """Return the command of the local stack's server, without the gate, on a port of this world."""
        command = build_command(Settings(home=self.home, _env_file=None), find_binary())
        own = ["--port", str(port), "--metrics-port", str(metrics_port), "--headless", "--log-level", "error"]
        return [*command[command.index("--") + 1 :], *own]

    def _build_worker_environment(self) -> dict[str, str]:
        clock = {"LD_PRELOAD": str(self.clock_library), "DRILL_CLOCK": str(self.clock)} if self.clock_library else {}
        return {
            **_clean_environment(),
            **clock,
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.model_proxy.port}/v1",
            "TEMPORAL_ADDRESS": f"127.0.0.1:{self.server_proxy.port}",
            "TENURE_HOME": str(self.home),
            "TENURE_LANCEDB_URI": str(self.knowledge),
            "TENURE_DOCUMENT_ROOTS": str(self.documents),
            "TENURE_MODEL_TIMEOUT": str(MODEL_SECONDS),
            "TENURE_HEARTBEAT_SECONDS": str(HEARTBEAT_SECONDS),
            "TENURE_EMBEDDING_THREADS": "1",
            "TENURE_MAINTENANCE_HOURS": "0",
            "TENURE_CONSOLIDATION_HOURS": "0",
            "TENURE_SANDBOX_PYTHON": sys.executable,
        }

    async def _follow_run(self) -> Result:
        """Start the run and wait for its result as a client does, whatever happens to the connection."""
        client = await connect(self.client_proxy.port)
        handle: WorkflowHandle[Any, Result] = client.get_workflow_handle_for(AgentWorkflow.run, RUN_ID)
        while True:
            try:
                await client.start_workflow(
                    AgentWorkflow.run, self._build_request(), id=RUN_ID, task_queue=TENURE_QUEUE
                )
                break
            except RPCError as error:
                if error.status.name == "ALREADY_EXISTS":
                    break
                await asyncio.sleep(0.5)
        while True:
            try:
                return await handle.result()
            except RPCError:
                await asyncio.sleep(0.5)

    def _build_request(self) -> RunRequest:
        if self.kind == "code":
            limits = RunLimits(program_seconds=30, repair_seconds=0)
            return RunRequest(question="Write a function double", mode="code", tests=(_TESTS,), limits=limits)
        return RunRequest(
            question="How are bread and cheese made?",
            ingest=(IngestRequest(corpus="food", paths=(str(self.documents),)),),
            corpora=("food",),
            limits=_LIMITS,
        )


async def connect(port: int) -> Client:
    """Connect to a Temporal server as soon as it answers.

    Raises:
        TimeoutError: it does not answer.
    """
    async with asyncio.timeout(_START_SECONDS):
        while True:
            try:
                return await Client.connect(f"127.0.0.1:{port}", data_converter=DATA_CONVERTER)
            except (RuntimeError, RPCError):
                await asyncio.sleep(0.2)


def _clean_environment() -> dict[str, str]:
    """Return the environment without settings of this machine."""
    unwanted = ("TENURE_", "TEMPORAL_", "OPENAI_")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}


def _outline(*names: str) -> dict[str, Any]:
    return {"topics": [{"heading": name, "question": f"How is {name} made?"} for name in names]}


def _write_program(request: dict[str, Any]) -> dict[str, Any]:
    """Write the wrong program first and, after a failure, the right one."""
    prompt = request["messages"][-1]["content"]
    sign = "+" if "<failure>" in prompt or "tests passed." in prompt else "-"
    files = [{"path": "solution.py", "content": f"def double(x: int) -> int:\n    return x {sign} x\n"}]
    return {"approach": f"With {sign}.", "files": files, "entry": "", "args": [], "stdin": ""}


async def _end_task(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
