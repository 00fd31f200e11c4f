"""Measure what a watched run costs on Temporal: `python -m benchmarks.actions [--effort E] [--latency S] [--json]`.

A question on the manual is answered by `client.py start`, which follows its run, with a Temporal server and a worker of
its own and by a loopback model server that answers each call after a latency. A run before that is not counted: it
warms the worker up and reads the documents. Further watchers are processes of `client.py watch`. The server is not that
of a local stack: to client and worker it is a cluster.

The Temporal server itself counts the actions: its metric `action` has a label for each kind that Temporal Cloud bills,
heartbeats and queries among them. Counted are also the history events of the whole tree of workflows by kind, the
versions of LanceDB tables that were committed, and the processor time of worker and server.
"""

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import lancedb
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.service import RPCError

from benchmarks.load import read_seconds, settle
from benchmarks.model_cost import QUESTIONS
from benchmarks.start import environment, run_worker
from benchmarks.support.columns import format_columns
from benchmarks.support.scripted_model import ScriptedModel
from tenure.settings import Settings
from tenure.temporal.connection import connect
from tenure.temporal.stack import server
from tests.support.ports import free_ports

_ROOT = Path(__file__).resolve().parents[1]
_START_SECONDS: Final = 60.0
_CLIENT: Final = (sys.executable, str(_ROOT / "client.py"))
_ACTION = re.compile(r'^action\{action_type="(?:grpc|command)_(\w+)",namespace="default",.*\} (\d+)$', re.MULTILINE)
"""Line of the server's metrics, such as `action{action_type="grpc_QueryWorkflow",namespace="default",…} 12`."""


@dataclass
class Stack:
    """Processes of a measurement, by their ids."""

    metrics_port: int
    worker: int = 0
    server: int = 0


class State(NamedTuple):
    """Counters of a stack at one moment."""

    actions: Counter[str]
    workflows: int
    events: Counter[str]
    commits: Counter[str]
    worker_seconds: float
    server_seconds: float


def measure(effort: str, latency: float, home: Path, *, watchers: int = 0, memory: bool = False) -> dict[str, Any]:
    """Answer the first question of an effort and return the figures of its run.

    Args:
        effort: effort of the run.
        latency: seconds of each answer of the model server.
        home: folder of the stack.
        watchers: number of processes that watch the run as well.
        memory: whether the run recalls and stores memories.

    Raises:
        RuntimeError: a run did not end in a report.
    """
    warm_up, question = QUESTIONS["simple"][0], QUESTIONS[effort][0]
    port, metrics_port = free_ports(2)
    with ScriptedModel(0.0) as model:
        around = environment(home) | model.environment | {"TEMPORAL_ADDRESS": f"127.0.0.1:{port}"}
        stack = Stack(metrics_port)
        with (
            patch.dict(os.environ, around, clear=True),
            _run_server(home, port, metrics_port) as stack.server,
            run_worker(around, "--make-current") as stack.worker,
        ):
            model.begin(warm_up, "simple")
            _start("warm-up", warm_up, "simple", around, "--no-memory")
            before = asyncio.run(_read_state(stack))
            model.begin(question, effort)
            model.latency, known, began = latency, len(model.billed), time.monotonic()
            _start("measured", question, effort, around, "--memory" if memory else "--no-memory", watchers=watchers)
            seconds, after = time.monotonic() - began, asyncio.run(_read_state(stack))
        calls = sum(bool(entry.schema_name) for entry in model.billed[known:])
    actions, commits = after.actions - before.actions, after.commits - before.commits
    events = after.events - before.events
    return {
        "effort": effort,
        "latency_s": latency,
        "watchers": watchers + 1,
        "calls": calls,
        "run_s": round(seconds, 1),
        "workflows": after.workflows - before.workflows,
        "events": events.total(),
        **{f"events_{name}": count for name, count in events.most_common()},
        "actions": actions.total(),
        **{f"action_{name}": count for name, count in sorted(actions.items())},
        "commits": commits.total(),
        **{f"commits_{name}": count for name, count in sorted(commits.items())},
        "worker_s": round(after.worker_seconds - before.worker_seconds, 2),
        "server_s": round(after.server_seconds - before.server_seconds, 2),
    }


def _start(run: str, question: str, effort: str, around: Mapping[str, str], memory: str, *, watchers: int = 0) -> None:
    """Answer a question with `client.py start`, in a run of this id, while others watch.

    Raises:
        RuntimeError: the run did not end in a report.
    """
    command = (*_CLIENT, "start", question, "--docs", str(_ROOT / "docs"), "--effort", effort, memory, "--id", run)
    quiet = {"stdout": subprocess.DEVNULL, "env": dict(around)}
    with subprocess.Popen([*command, "--json"], stderr=subprocess.PIPE, text=True, **quiet) as starting:  # type: ignore[call-overload]
        said = starting.stderr.readline()
        watching = [
            subprocess.Popen([*_CLIENT, "watch", run], stderr=subprocess.DEVNULL, **quiet)  # type: ignore[call-overload]
            for _ in range(watchers)
        ]
        said += starting.stderr.read()
        codes = [starting.wait(), *(process.wait() for process in watching)]
    if any(codes):
        raise RuntimeError(f"not all commands ended in a report ({codes}): {said[-400:]}")


@contextmanager
def _run_server(home: Path, port: int, metrics_port: int) -> Iterator[int]:
    """Run a Temporal server with the options of the local stack's until the block ends, and yield its process id."""
    command = server.build_command(Settings(), server.find_binary())
    options = (*command[command.index("--") + 1 :], "--headless", "--log-level", "error")
    home.mkdir(exist_ok=True)
    with subprocess.Popen(
        [*options, "--port", str(port), "--metrics-port", str(metrics_port)], stdout=subprocess.DEVNULL
    ) as process:
        try:
            asyncio.run(_connect(f"127.0.0.1:{port}"))
            yield process.pid
        finally:
            process.terminate()


async def _connect(address: str) -> None:
    """Wait until a server knows its namespace."""
    async with asyncio.timeout(_START_SECONDS):
        while True:
            try:
                await (await Client.connect(address)).count_workflows()
            except (RuntimeError, RPCError):
                await asyncio.sleep(0.1)
            else:
                return


async def _read_state(stack: Stack) -> State:
    """Return the counters of a stack when no workflow runs any more."""
    settings = Settings()
    client = await connect(settings)
    await settle(client)
    tables = lancedb.connect(settings.knowledge_uri)
    return State(
        count_actions(await asyncio.to_thread(_read_metrics, stack.metrics_port)),
        *await _count_events(client),
        Counter({name: tables.open_table(name).version for name in tables.list_tables(limit=1000).tables}),
        read_seconds(stack.worker),
        read_seconds(stack.server),
    )


async def _count_events(client: Client) -> tuple[int, Counter[str]]:
    """Return the number of ended workflows, and of their history events by kind."""
    ended = [found async for found in client.list_workflows("ExecutionStatus != 'Running'")]
    kinds = Counter[str]()
    for found in ended:
        history = await client.get_workflow_handle(found.id, run_id=found.run_id).fetch_history()
        kinds.update(list_event_kinds(history.events))
    return len(ended), kinds


def list_event_kinds(events: Iterable[HistoryEvent]) -> Iterator[str]:
    """Yield the kind of each event of a history: the activity or signal that it belongs to, or its type."""
    names: dict[int, str] = {}
    for event in events:
        kind = EventType.Name(event.event_type).removeprefix("EVENT_TYPE_").lower()
        fields: Any = getattr(event, str(event.WhichOneof("attributes")))
        if kind == "activity_task_scheduled":
            names[event.event_id] = f"activity_{fields.activity_type.name}"
        elif kind == "signal_external_workflow_execution_initiated":
            names[event.event_id] = f"signal_{fields.signal_name}_sent"
        if kind.startswith("activity_task") or "external_workflow" in kind:
            start = getattr(fields, "scheduled_event_id", 0) or getattr(fields, "initiated_event_id", 0)
            yield names[start or event.event_id]
        elif kind == "workflow_execution_signaled":
            yield f"signal_{fields.signal_name}_received"
        else:
            grouped = ("workflow_task", "timer", "child_workflow")
            yield next((f"{group}s" for group in grouped if group in kind), kind)


def _read_metrics(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        text: str = reply.read().decode()
    return text


def count_actions(metrics: str) -> Counter[str]:
    """Return the actions by kind that the metrics of a server count."""
    found = Counter[str]()
    for kind, count in _ACTION.findall(metrics):
        found[kind] += int(count)
    return found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.actions", description=__doc__)
    parser.add_argument("--effort", choices=tuple(QUESTIONS), default="moderate", help="default: moderate")
    parser.add_argument("--latency", type=float, default=15.0, metavar="S", help="seconds of a call (default: 15)")
    parser.add_argument("--watchers", type=int, default=0, metavar="N", help="processes that watch the run as well")
    parser.add_argument("--memory", action="store_true", help="recall and store memories")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as home:
        figures = measure(
            arguments.effort, arguments.latency, Path(home), watchers=arguments.watchers, memory=arguments.memory
        )
    print(json.dumps(figures) if arguments.json else format_columns({"run": figures}))


if __name__ == "__main__":
    main()
