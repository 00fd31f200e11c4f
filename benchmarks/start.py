"""Measure the time until the first report: `python -m benchmarks.start [--json] [--docs PATH] [--repeat N] [QUESTION]`.

`client.py start` runs twice in a new temporary home. The first run starts the Temporal server and a worker, converts
the embedding model and reads the documents; the second finds all of it ready. Then another worker of the home is
started until its health check says that it takes work, and commands that need no run are called.

Each of these is repeated, and the smallest figure counts: other programs only add to it. The computing time of each
process is printed as well, since it depends less on them.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from tenure.temporal.health.probe import READY_PATH, probe_worker
from tests.support.ports import free_ports

_ROOT = Path(__file__).resolve().parents[1]
_QUESTION = "How does Tenure survive a crash of its worker?"
_COMMANDS = ("--help", "status", "completion bash", "list")
_POLL_SECONDS = 0.02
_MAX_START_SECONDS = 120.0


def measure(question: str, documents: Path, home: Path, repeat: int) -> dict[str, float]:
    """Start twice in a fresh home, then its parts; return the figures, in seconds.

    Raises:
        RuntimeError: a run did not end in a report, or a worker does not serve.
    """
    around = environment(home)
    client = (sys.executable, str(_ROOT / "client.py"))
    start = (*client, "start", question, "--docs", str(documents), "--json")
    try:
        first = _timed(start, around)
        second = [_timed(start, around) for _ in range(repeat)]
        workers = [_start_worker(around) for _ in range(repeat)]
        commands = {words: [_call((*client, *words.split()), around) for _ in range(repeat)] for words in _COMMANDS}
    finally:
        subprocess.run([*client, "down"], env=around, stdout=subprocess.DEVNULL, check=True)
    figures = {f"first_{what}": seconds for what, seconds in first.items()}
    figures |= {f"second_{what}": seconds for what, seconds in _find_smallest(second).items()}
    figures |= {f"worker_{what}": seconds for what, seconds in _find_smallest(workers).items()}
    for words, calls in commands.items():
        name = words.strip("-").split()[0]
        figures |= {f"{name}_{what}": seconds for what, seconds in _find_smallest(calls).items()}
    return figures


def _find_smallest(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {what: min(run[what] for run in runs) for what in runs[0]}


def _start_worker(environment: Mapping[str, str]) -> dict[str, float]:
    """Start one more worker and end it; return the time until its health check says that it takes work."""
    began = time.perf_counter()
    with run_worker(environment) as pid:
        passed, used = time.perf_counter() - began, psutil.Process(pid).cpu_times()
    return {"serving": round(passed, 2), "serving_cpu": round(used.user + used.system, 2)}


@contextmanager
def run_worker(environment: Mapping[str, str], *options: str) -> Iterator[int]:
    """Run one more worker of the home until the block ends; yield its process id as soon as it takes work.

    Raises:
        RuntimeError: the worker does not serve.
    """
    (port,) = free_ports(1)
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, str(_ROOT / "worker.py"), *options],
        env={**environment, "TENURE_HEALTH_PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            while not _is_ready(port):
                if process.poll() is not None or time.perf_counter() - began > _MAX_START_SECONDS:
                    raise RuntimeError("the worker does not serve")
                time.sleep(_POLL_SECONDS)
            yield process.pid
        finally:
            process.terminate()


def _is_ready(port: int) -> bool:
    return probe_worker("127.0.0.1", port, READY_PATH).healthy


def _call(command: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, float]:
    """Run a command; return its time and its computing time."""
    began, before = time.perf_counter(), _read_cpu_of_children()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return {
        "seconds": round(time.perf_counter() - began, 3),
        "seconds_cpu": round(_read_cpu_of_children() - before, 3),
    }


def _read_cpu_of_children() -> float:
    """Return the computing time of all ended child processes, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _timed(command: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, float]:
    """Run a command; return when its web UI was named, its first progress line came, and it ended."""
    began, before, seen = time.perf_counter(), _read_cpu_of_children(), dict.fromkeys(("web_ui", "progress"), 0.0)
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        said = []
        for line in process.stderr or ():
            said.append(line)
            what = "progress" if line.startswith("[") else "web_ui"
            seen[what] = seen[what] or time.perf_counter() - began
    if process.returncode != 0:
        raise RuntimeError(f"`start` ended with {process.returncode}: {''.join(said)}")
    figures = {**seen, "report": time.perf_counter() - began, "report_cpu": _read_cpu_of_children() - before}
    return {what: round(seconds, 2) for what, seconds in figures.items()}


def environment(home: Path) -> dict[str, str]:
    """Return this process's environment with a home and ports of its own, and no server or model from outside."""
    foreign = ("TENURE_", "TEMPORAL_", "OPENAI_")
    port, ui_port, site_port = free_ports(3)
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
        "TENURE_HOME": str(home),
        "TENURE_TEMPORAL_PORT": str(port),
        "TENURE_UI_PORT": str(ui_port),
        "TENURE_SITE_PORT": str(site_port),
    }


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("question", nargs="?", default=_QUESTION, help=f"default: {_QUESTION}")
    parser.add_argument("--docs", type=Path, default=_ROOT / "docs", metavar="PATH", help="default: the manual")
    parser.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="repetitions after the first start; default: 3"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as folder:
        figures = measure(arguments.question, arguments.docs, Path(folder) / "home", arguments.repeat)
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name.replace('_', ' '):22} {value:6.2f} s" for name, value in figures.items()))


if __name__ == "__main__":
    main()
