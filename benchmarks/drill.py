"""Strike running research with faults: `python -m benchmarks.drill [--seed N] [--runs N] [--faults N] [--only NAME]`.

Every run has processes of its own: a Temporal server, a worker, a model server, and proxies between them. Faults strike
at moments drawn by the seed. A supervisor starts ended processes again. Afterwards each run is compared with an
undisturbed one: it has to finish, the model server must not have been asked again for an answer that the history had
recorded, and the knowledge base must hold the same rows.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.drill import disk
from benchmarks.support.drill.faults import list_faults
from benchmarks.support.drill.run import Drill, Outcome, select_faults

_HEADER = ("fault", "times", "finished", "repeated", "lost", "doubled", "wrong", "median s", "max s")


def build_table(outcomes: Sequence[Outcome], *, by_part: bool = False) -> list[dict[str, Any]]:
    """Return one row for each fault, or for each part that faults strike, and one for all."""
    by_fault: dict[str, list[tuple[Outcome, float | None]]] = defaultdict(list)
    for outcome in outcomes:
        for name, seconds in outcome.struck:
            by_fault[name.partition(":")[0] if by_part else name].append((outcome, seconds))
    rows = [_build_row(name, by_fault[name]) for name in sorted(by_fault)]
    everything = [pair for pairs in by_fault.values() for pair in pairs]
    return [*rows, _build_row(f"all, in {len(outcomes)} runs", everything)]


def _build_row(name: str, pairs: Sequence[tuple[Outcome, float | None]]) -> dict[str, Any]:
    seconds = [passed for _, passed in pairs if passed is not None]
    runs = {outcome.number: outcome for outcome, _ in pairs}.values()
    values = (
        *(name, len(pairs), sum(outcome.finished for outcome, _ in pairs)),
        *(sum(outcome.repeated for outcome in runs), *(sum(outcome.rows[at] for outcome in runs) for at in range(3))),
        *(round(statistics.median(seconds), 1) if seconds else None, round(max(seconds), 1) if seconds else None),
    )
    return dict(zip(_HEADER, values, strict=True))


def format_table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table as Markdown."""
    lines = [" | ".join(_HEADER), " | ".join("---" for _ in _HEADER)]
    lines += [" | ".join("" if value is None else str(value) for value in row.values()) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def is_passed(outcomes: Sequence[Outcome]) -> bool:
    """Return whether all runs have finished without a repeated call, a changed row or another problem."""
    return all(
        outcome.finished and not outcome.problem and not outcome.repeated and not any(outcome.rows)
        for outcome in outcomes
    )


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Run from the command line; return 1 if a run did not withstand its faults."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drill", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of everything (default: 1)")
    parser.add_argument("--runs", type=int, default=40, metavar="N", help="runs (default: 40)")
    parser.add_argument("--faults", type=int, default=200, metavar="N", help="faults in all runs (default: 200)")
    parser.add_argument("--only", default="", metavar="NAME", help="faults whose name contains this text")
    parser.add_argument("--kind", choices=("research", "code"), help="kind of all runs (default: three to one)")
    parser.add_argument("--worlds", type=int, default=3, metavar="N", help="runs at the same time (default: 3)")
    parser.add_argument("--minutes", type=float, metavar="N", help="start no further run after this time")
    parser.add_argument("--parts", action="store_true", help="print one row for each part instead of each fault")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--list", action="store_true", help="print the names of all faults")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(fault.name for fault in list_faults()))
        return 0
    disk.enter_namespaces([sys.executable, "-m", "benchmarks.drill", *sys.argv[1:]])
    with tempfile.TemporaryDirectory(prefix="tenure-drill-", ignore_cleanup_errors=True) as folder:
        drill = Drill(Path(folder), _report, arguments.worlds, arguments.minutes)
        try:
            chosen = select_faults(arguments.only, arguments.kind, has_clock=drill.clock_library is not None)
        except ValueError as error:
            parser.error(str(error))
        outcomes = asyncio.run(drill.run(arguments.seed, arguments.runs, arguments.faults, chosen))
    table = build_table(outcomes, by_part=arguments.parts)
    if arguments.json:
        print(json.dumps({"passed": is_passed(outcomes), "table": table, "runs": [vars(one) for one in outcomes]}))
    else:
        print(format_table(table))
    return 0 if is_passed(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
