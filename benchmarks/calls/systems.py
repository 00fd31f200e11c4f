"""The compared systems: each makes one turn of calls and says what they cost."""

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Protocol

import httpx
import psutil
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle

from benchmarks.calls.figures import Calls
from benchmarks.calls.plain_rounds import ACTIVITY, PlainRounds, PlainRoundsWorkflow
from benchmarks.calls.role_rounds import Rounds, RoundsWorkflow
from tenure.roles.writing import report_reviewer

ROOT: Final = Path(__file__).resolve().parents[2]
_STOP_SECONDS: Final = 30.0
_TURN_TIMEOUT: Final = timedelta(minutes=5)

Requests = Sequence[Mapping[str, Any]]
"""Requests to the model server."""


class System(Protocol):
    """A system that makes calls."""

    async def call(self, requests: Requests) -> Calls:
        """Post the requests of one turn, one after the other."""
        ...


class Processes(NamedTuple):
    """Ids of processes with a share in a call; their children count as well."""

    client: Sequence[int]
    server: Sequence[int] = ()


class Http:
    """A client that posts the requests with nothing around them."""

    def __init__(self, base_url: str) -> None:
        self._http = httpx.Client(base_url=base_url)

    async def call(self, requests: Requests) -> Calls:
        """Post the requests of one turn, one after the other."""
        calls, used = Calls(), time.thread_time()
        for request in requests:
            began = time.perf_counter()
            self._http.post("/chat/completions", json=request).raise_for_status()
            calls.milliseconds.append((time.perf_counter() - began) * 1000)
        calls.client_seconds = time.thread_time() - used
        return calls


class PlainTemporal:
    """A workflow with one activity for each call.

    Args:
        client: client of the Temporal server.
        queue: task queue of the workflow.
        activity_queue: task queue of the activity.
        processes: worker and server.
    """

    def __init__(self, client: Client, queue: str, activity_queue: str, processes: Processes) -> None:
        self._client, self._queue, self._activity_queue = client, queue, activity_queue
        self._processes = processes

    async def call(self, requests: Requests) -> Calls:
        """Post the requests of one turn, one after the other."""
        rounds = PlainRounds(requests=[dict(request) for request in requests], activity_queue=self._activity_queue)
        calls = Calls()
        with _measure(self._processes, calls):
            handle = await self._client.start_workflow(
                PlainRoundsWorkflow.run,
                rounds,
                id=uuid.uuid4().hex,
                task_queue=self._queue,
                execution_timeout=_TURN_TIMEOUT,
            )
            await handle.result()
        await _read_history(handle, ACTIVITY, calls)
        return calls


class Tenure:
    """A role that is asked through all layers of the product.

    Args:
        client: client of the Temporal server.
        queue: task queue of the workflow.
        question: question of all calls.
        corpus: corpus of their passages.
        processes: workers and server.
    """

    def __init__(self, client: Client, queue: str, question: str, corpus: str, processes: Processes) -> None:
        self._client, self._queue, self._question, self._corpus = client, queue, question, corpus
        self._processes = processes
        self._first = 0

    async def ask(self, count: int) -> Calls:
        """Make a number of calls.

        Raises:
            RuntimeError: no passage was found, so the requests would be too small to mean anything.
        """
        rounds = Rounds(question=self._question, corpus=self._corpus, first=self._first, count=count)
        self._first += count
        calls = Calls()
        with _measure(self._processes, calls):
            handle = await self._client.start_workflow(
                RoundsWorkflow.run, rounds, id=uuid.uuid4().hex, task_queue=self._queue, execution_timeout=_TURN_TIMEOUT
            )
            passages = await handle.result()
        if not passages:
            raise RuntimeError("no passage was found")
        await _read_history(handle, report_reviewer.ROLE.name, calls)
        return calls


class LangGraph:
    """A graph with SQLite checkpoints in a process of its own environment.

    Args:
        process: process of `benchmarks.calls.run_langgraph` with pipes.
    """

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    async def call(self, requests: Requests) -> Calls:
        """Post the requests of one turn, one after the other.

        Raises:
            RuntimeError: the process has ended.
        """
        calls = Calls()
        with _measure(Processes([self._process.pid]), calls):
            _get_pipe(self._process.stdin).write(json.dumps(requests) + "\n")
            _get_pipe(self._process.stdin).flush()
            line = _get_pipe(self._process.stdout).readline()
        if not line:
            raise RuntimeError("the graph has failed")
        calls.milliseconds = json.loads(line)
        return calls


@contextmanager
def start_module(
    module: str, *arguments: str, environment: Mapping[str, str], python: str = sys.executable
) -> Iterator["subprocess.Popen[str]"]:
    """Run a module of this repository in a process until the block ends."""
    command = [python, "-m", module, *arguments]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    around = {**environment, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=around, cwd=ROOT, **pipes) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(_STOP_SECONDS)


def _get_pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise RuntimeError("the process has no pipes")
    return pipe


@contextmanager
def _measure(processes: Processes, calls: Calls) -> Iterator[None]:
    """Store the processor time that the processes use during the block."""
    before = [_read_seconds(pids) for pids in processes]
    yield
    client, server = (_read_seconds(pids) - used for pids, used in zip(processes, before, strict=True))
    calls.client_seconds, calls.server_seconds = client, server


def _read_seconds(pids: Sequence[int]) -> float:
    families = [[psutil.Process(pid), *psutil.Process(pid).children(recursive=True)] for pid in pids]
    times = [process.cpu_times() for family in families for process in family]
    return sum(one.user + one.system for one in times)


async def _read_history(handle: WorkflowHandle[Any, Any], activity: str, calls: Calls) -> None:
    """Store the time from the scheduling of each call to that of the next, the end of the workflow included."""
    events = [event async for event in handle.fetch_history_events()]
    scheduled = [place for place, event in enumerate(events) if _get_activity(event) == activity]
    moments = [events[place].event_time.ToNanoseconds() / 1e6 for place in (*scheduled, len(events) - 1)]
    calls.milliseconds = [later - earlier for earlier, later in pairwise(moments)]
    calls.events = len(events) - 1 - scheduled[0]


def _get_activity(event: HistoryEvent) -> str:
    """Return the name of the activity that an event schedules, or an empty string."""
    return event.activity_task_scheduled_event_attributes.activity_type.name
