"""Measure the overhead of one model call: `python -m benchmarks.calls [--rounds N] [--langgraph [PYTHON]] [--json]`.

One role of Tenure is asked repeatedly through all layers of a run: Temporal, passages, rendering, HTTP, validation and
accounting. A loopback model server answers immediately. The same requests are then posted to the same server by a
plain client, by a workflow of Temporal with one activity for each call, by the same workflow with an activity on a task
queue of its own, and by a LangGraph graph with SQLite checkpoints. The systems take turns, so that other work of the
machine affects all of them. The overhead is the time beyond that of the plain client.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from temporalio.client import Client

from benchmarks.calls.figures import BASELINE, Calls, compute_figures
from benchmarks.calls.systems import (
    ROOT,
    Http,
    LangGraph,
    PlainTemporal,
    Processes,
    System,
    Tenure,
    start_module,
)
from benchmarks.peers.environments import PeerEnvironments, build_variables, default_folder
from benchmarks.peers.systems import find_system
from benchmarks.start import environment
from benchmarks.support.columns import format_columns
from tenure.settings import Settings
from tenure.temporal.connection import connect
from tenure.temporal.stack import record as stack_record
from tests.model_server import ModelServer

_QUESTION: Final = "How does Tenure survive a crash of its worker?"
_CORPUS: Final = "manual"
_UNLIMITED: Final = "100000"  # the queue's rate limit is a setting; here it would be most of what is measured
_TURN: Final = 20
"""Calls of a turn: the requests of one turn are the input of a workflow, whose size is limited."""
_WARM_UP: Final = 8
"""Calls of the first turn, which is not counted: processes start, and passages are read for the first time."""


def measure(rounds: int, home: Path, langgraph: str | None = None) -> dict[str, dict[str, float]]:
    """Make the given number of calls with every system and return the figures.

    Args:
        rounds: calls of each system.
        home: folder of all states.
        langgraph: Python of an environment with LangGraph; None to leave it out.
    """
    with ModelServer() as model, ExitStack() as running:
        around = environment(home) | model.environment | {"TENURE_MODEL_CALLS_PER_SECOND": _UNLIMITED}
        command = (sys.executable, str(ROOT / "client.py"))

        def call_client(*words: str) -> None:
            silent: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run([*command, *words], env=around, check=True, **silent)

        running.callback(call_client, "down")
        call_client("up")
        call_client("corpus", "add", str(ROOT / "docs"), "--corpus", _CORPUS)
        return asyncio.run(_take_turns(rounds, home, model, around, langgraph))


async def _take_turns(
    rounds: int, home: Path, model: ModelServer, around: dict[str, str], langgraph: str | None
) -> dict[str, dict[str, float]]:
    settings = Settings(home=home, temporal_port=int(around["TENURE_TEMPORAL_PORT"]))
    client, record = await connect(settings), stack_record.load(home)
    if record.worker is None or record.server is None:
        raise RuntimeError("the stack has no processes of its own")
    with ExitStack() as running:
        queues = [f"benchmark-{uuid.uuid4().hex[:8]}" for _ in range(3)]
        rounds_worker = running.enter_context(
            start_module("benchmarks.calls.role_rounds", queues[0], environment=around)
        )
        tenure = Tenure(
            client,
            queues[0],
            _QUESTION,
            _CORPUS,
            Processes([record.worker.pid, rounds_worker.pid], [record.server.pid]),
        )
        others: dict[str, System] = {BASELINE: Http(model.base_url)}
        others |= _start_plain(running, client, model, around, queues[1:], record.server.pid)
        if langgraph:
            others["LangGraph"] = _start_langgraph(running, home, model, langgraph)
        calls = {name: Calls() for name in ("Tenure", *others)}
        for turn, count in enumerate((_WARM_UP, *_divide(rounds))):
            known = len(model.requests)
            made = {"Tenure": await tenure.ask(count)}
            requests = [request.json for request in model.requests[known:] if request.schema_name]
            made |= {name: await system.call(requests) for name, system in others.items()}
            for name, found in made.items() if turn else ():
                calls[name].add(found)
    return compute_figures(calls)


def _divide(rounds: int) -> list[int]:
    """Return the calls of each turn."""
    full, rest = divmod(rounds, _TURN)
    return [_TURN] * full + [rest] * bool(rest)


def _start_plain(
    running: ExitStack, client: Client, model: ModelServer, around: dict[str, str], queues: list[str], server: int
) -> dict[str, System]:
    """Start the worker of the plain workflow; return it with one task queue and with two."""
    address = f"127.0.0.1:{around['TENURE_TEMPORAL_PORT']}"
    arguments = (address, model.base_url, *queues)
    worker = running.enter_context(start_module("benchmarks.calls.plain_rounds", *arguments, environment=around))
    processes = Processes([worker.pid], [server])
    return {
        "Temporal": PlainTemporal(client, queues[0], queues[0], processes),
        "Temporal, 2 queues": PlainTemporal(client, queues[0], queues[1], processes),
    }


def _start_langgraph(running: ExitStack, home: Path, model: ModelServer, python: str) -> LangGraph:
    variables = build_variables(find_system("LangGraph"), home, {}, None)
    arguments = (model.base_url, str(home / "checkpoints.sqlite"))
    module = "benchmarks.calls.run_langgraph"
    return LangGraph(running.enter_context(start_module(module, *arguments, environment=variables, python=python)))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.calls", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="calls to measure (default: 100)")
    parser.add_argument(
        "--langgraph",
        nargs="?",
        const="",
        metavar="PYTHON",
        help="measure LangGraph as well, with this Python; without one its environment of `benchmarks.peers` is used, "
        "and installed if it is missing",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    python: str | None = arguments.langgraph
    if python == "":
        python = str(PeerEnvironments(default_folder(), sys.executable).install(find_system("LangGraph")))
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-", ignore_cleanup_errors=True) as folder:
        figures = measure(arguments.rounds, Path(folder), python)
    print(json.dumps(figures) if arguments.json else format_columns(figures))


if __name__ == "__main__":
    main()
