"""Compare Tenure with other research systems: `python -m benchmarks.peers [--only NAME] [--output FILE]`.

Every system answers the same questions on the same documents with the same loopback model server, which scripts all
answers and keeps a ledger. Each other system lives in an environment of its own outside the repository, which the
command makes with uv. A scripted model measures cost, durability and honesty of a harness, not prose.

With `--render FILE` nothing is run: the tables and charts of stored figures are written.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers.charts import write_charts
from benchmarks.peers.documents import QUESTIONS
from benchmarks.peers.environments import InstallationFailed, PeerEnvironments, default_folder
from benchmarks.peers.scenarios import SCENARIOS, Comparison
from benchmarks.peers.systems import SYSTEMS, find_system
from benchmarks.peers.tables import format_tables


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return the figures of the systems by their names; a system without an installation has the obstacle."""
    environments = PeerEnvironments(arguments.environments, arguments.python)
    comparison = Comparison(folder, environments, arguments.latency)
    stored = arguments.output if arguments.output and arguments.output.exists() else None
    figures: dict[str, Any] = json.loads(stored.read_text(encoding="utf-8")) if stored else {}

    def save(name: str, found: Mapping[str, Any]) -> None:
        known = figures.get(name, {})
        known.pop("obstacle", None)  # of an earlier attempt
        figures[name] = {**known, **found}
        if arguments.output:
            arguments.output.write_text(json.dumps(figures, indent=1), encoding="utf-8")

    for system in [find_system(name) for name in arguments.only] or SYSTEMS:
        scenarios = arguments.scenario or SCENARIOS
        try:
            comparison.measure(system, scenarios, arguments.questions, partial(save, system.name))
        except InstallationFailed as error:
            save(system.name, {"obstacle": str(error)})
    return figures


def main() -> None:
    """Run from the command line."""
    names = [system.name for system in SYSTEMS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", default=[], choices=names, help="this system; may be repeated")
    parser.add_argument(
        "--scenario", action="append", default=[], choices=SCENARIOS, help="this scenario; may be repeated"
    )
    parser.add_argument("--questions", type=int, default=len(QUESTIONS), metavar="N", help="questions (default: all)")
    parser.add_argument(
        "--latency", type=float, default=0.5, metavar="SECONDS", help="time of every call of the model (default: 0.5)"
    )
    parser.add_argument(
        "--environments", type=Path, default=default_folder(), metavar="FOLDER", help=f"default: {default_folder()}"
    )
    parser.add_argument(
        "--python", default=sys.executable, metavar="PYTHON", help="Python of the environments, 3.12 or newer"
    )
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keep states and reports in this folder")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="write the figures as JSON, next to figures of other systems and scenarios that it contains",
    )
    parser.add_argument("--render", type=Path, metavar="FILE", help="read figures from this file and run nothing")
    parser.add_argument("--charts", type=Path, metavar="FOLDER", help="write charts as SVG")
    arguments = parser.parse_args()
    if arguments.render:
        figures = json.loads(arguments.render.read_text(encoding="utf-8"))
    elif arguments.work:
        figures = measure(arguments, arguments.work.resolve())
    else:
        with tempfile.TemporaryDirectory(prefix="tenure-peers-", ignore_cleanup_errors=True) as folder:
            figures = measure(arguments, Path(folder))
    if arguments.charts:
        write_charts(figures, arguments.charts)
    print(format_tables(figures))


if __name__ == "__main__":
    main()
