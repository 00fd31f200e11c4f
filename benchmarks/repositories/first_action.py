"""Measure the time until the first action of a run: `python -m benchmarks.repositories.first_action [--runs N]`.

A local stack with a model server of its own works on an issue of a small repository first, which warms it up. Each
measured run then has a new generated repository of 5,000 files, which the stack does not know, so that its index is
made meanwhile. The model answers without a delay: its first answer reads a file, the others end the work. The time
begins when `client.py start` is executed. Printed are the load of the machine and, as median and worst, the seconds
until the repository is opened, the first request reaches the model, and a worker begins the first action.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from benchmarks.start import environment
from tenure.settings import Settings
from tenure.temporal.connection import connect
from tests.model_server import ModelServer
from tests.model_server.request import read_messages
from tests.support.repositories.git import CLOCK, make_repository, run_git

_ROOT: Final = Path(__file__).resolve().parents[2]
_CLIENT: Final = (sys.executable, str(_ROOT / "client.py"))
PACKAGES: Final = 100
MODULES: Final = 50
FUNCTIONS: Final = 8
"""Functions of a module, which then has about 2,500 characters."""
TASK: Final = "format_minutes(65) is 1:5 in place of 1:05"
FIRST_ANSWER: Final = "The fault is in the formatting.\n\nREAD clock/durations.py"
FIRST_ACTION: Final = "read_lines"
"""Its activity."""


def make_files(number: int) -> dict[str, str | bytes]:
    """Return the files of a repository; those of another number are others."""
    files = dict(CLOCK)
    for package in range(PACKAGES):
        following = (package + 1) % PACKAGES
        for module in range(MODULES):
            functions = "\n\n".join(
                f"def f_{package}_{module}_{n}(value, other={number}):\n"
                f'    """Return value {n} of module {module} in package {package}."""\n'
                "    result = []\n"
                "    for item in range(value):\n"
                f"        result.append(item * other + {module})\n"
                f"    return sum(result) + f_{package}_{module}_{(n + 1) % FUNCTIONS}(0)\n"
                for n in range(FUNCTIONS)
            )
            imported = f"from package{following:03} import module{module:02}\n\n\n"
            files[f"package{package:03}/module{module:02}.py"] = imported + functions
    return files


def answer(request: Any) -> str:
    """Return the answer of the model to a request."""
    is_first = all(message["role"] != "assistant" for message in read_messages(request))
    return FIRST_ANSWER if is_first else "DONE\nCAUSE: none\nCHANGE: none"


def measure_run(run: str, repository: Path, around: Mapping[str, str], model: ModelServer) -> dict[str, float]:
    """Start a run on an issue, and return the seconds from the start to each moment.

    Raises:
        RuntimeError: the run ended without an action.
    """
    arrivals: list[float] = []

    def receive(request: Any) -> str:
        arrivals.append(time.time())
        return answer(request)

    model.on("repository_engineer", receive)
    began = time.time()
    command = (*_CLIENT, "start", TASK, "--repo", str(repository), "--id", run, "--no-memory", "--json")
    done = subprocess.run(command, env=dict(around), capture_output=True, text=True, check=False)
    times = asyncio.run(_read_times(run))
    if not arrivals or FIRST_ACTION not in times:
        raise RuntimeError(f"run {run} ended without an action ({done.returncode}): {done.stderr[-400:]}")
    moments = {"opened": times["open_repository"][1], "request": arrivals[0], "action": times[FIRST_ACTION][0]}
    return {name: round(moment - began, 2) for name, moment in moments.items()}


async def _read_times(run: str) -> dict[str, tuple[float, float]]:
    """Return start and end of the first execution of each activity of the workflows of a run, by its name."""
    client = await connect(Settings())
    times: dict[str, tuple[float, float]] = {}
    async for found in client.list_workflows():
        if found.id.startswith(run):
            history = await client.get_workflow_handle(found.id, run_id=found.run_id).fetch_history()
            for name, span in _list_activities(history.events):
                times[name] = min(span, times.get(name, span))
    return times


def _list_activities(events: Sequence[HistoryEvent]) -> list[tuple[str, tuple[float, float]]]:
    by_id = {event.event_id: event for event in events}
    spans = []
    for event in events:
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
            ended = event.activity_task_completed_event_attributes
            scheduled = by_id[ended.scheduled_event_id].activity_task_scheduled_event_attributes
            started = by_id[ended.started_event_id].event_time.ToNanoseconds() / 1e9
            spans.append((scheduled.activity_type.name, (started, event.event_time.ToNanoseconds() / 1e9)))
    return spans


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.repositories.first_action",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="measured runs (default: 5)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as name, ModelServer() as model:
        folder = Path(name)
        around = environment(folder / "home") | model.environment
        try:
            with patch.dict(os.environ, around, clear=True):
                measure_run("warm-up", make_repository(folder / "small", CLOCK), around, model)
                figures = []
                for n in range(given.runs):
                    repository = make_repository(folder / f"large-{n}", make_files(n))
                    run_git(repository, "repack", "-adq")  # as in a clone
                    os.sync()  # a clone of a person has been on the disk for long
                    figures.append(measure_run(f"first-{n}", repository, around, model))
                    print(f"run {n + 1}: {figures[-1]}, load {os.getloadavg()[0]:.1f}", flush=True)
        finally:
            subprocess.run([*_CLIENT, "down"], env=around, stdout=subprocess.DEVNULL, check=True)
    for moment in figures[0]:
        seconds = [run[moment] for run in figures]
        print(f"{moment:8} median {statistics.median(seconds):.1f} s, worst {max(seconds):.1f} s")


if __name__ == "__main__":
    main()
