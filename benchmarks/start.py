"""Measure the time until the first report: `python -m benchmarks.start [--json] [--docs PATH] [QUESTION]`.

`client.py start` runs twice in a new temporary home. The first run starts the Temporal server and a worker, converts
the
embedding model and reads the documents; the second finds all of it ready.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_QUESTION = "How does Tenure survive a crash of its worker?"


def measure(question: str, documents: Path, home: Path) -> dict[str, float]:
    """Start twice in a fresh home and return the figures, in seconds.

    Raises:
        RuntimeError: a run did not end in a report.
    """
    around = environment(home)
    client = (sys.executable, str(_ROOT / "client.py"))
    start = (*client, "start", question, "--docs", str(documents), "--json")
    try:
        first = _timed(start, around)
        second = _timed(start, around)
    finally:
        subprocess.run([*client, "down"], env=around, stdout=subprocess.DEVNULL, check=True)
    return {f"{name}_{what}": seconds for name, run in (("first", first), ("second", second)) for what, seconds in run}


def _timed(command: tuple[str, ...], environment: Mapping[str, str]) -> tuple[tuple[str, float], ...]:
    """Run a command; return when its web UI was named, its first progress line came, and it ended."""
    began, seen = time.perf_counter(), dict.fromkeys(("web_ui", "progress"), 0.0)
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
    figures = {**seen, "report": time.perf_counter() - began}
    return tuple((what, round(seconds, 2)) for what, seconds in figures.items())


def environment(home: Path) -> dict[str, str]:
    """Return this process's environment with a home and ports of its own, and no server or model from outside."""
    foreign = ("TENURE_", "TEMPORAL_", "OPENAI_")
    port, ui_port, site_port = _free_ports(3)
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
        "TENURE_HOME": str(home),
        "TENURE_TEMPORAL_PORT": str(port),
        "TENURE_UI_PORT": str(ui_port),
        "TENURE_SITE_PORT": str(site_port),
    }


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("question", nargs="?", default=_QUESTION, help=f"default: {_QUESTION}")
    parser.add_argument("--docs", type=Path, default=_ROOT / "docs", metavar="PATH", help="default: the manual")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenure-benchmark-") as folder:
        figures = measure(arguments.question, arguments.docs, Path(folder) / "home")
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("\n".join(f"{name.replace('_', ' '):18} {value:6.2f} s" for name, value in figures.items()))


if __name__ == "__main__":
    main()
