"""Run the small evaluation over recorded answers: `python -m evals.small [--without MECHANISM …] [--store]`.

Three tasks run on a stack of their own, with answers that were written once for exactly these questions. A request
that a change has altered gets the answer to the nearest recorded one; one without such an answer is refused, and
counted as missed. `--store` writes `evals/figures.json`, and `docs/evaluation.md` from it.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from inspect_ai import Task
from inspect_ai import eval as evaluate

from benchmarks.start import environment
from evals.ablations import MECHANISMS, collect_means, render_table, use_environment
from evals.by_hand.folder import RequestFolder
from evals.by_hand.server import ByHandServer
from evals.figures import PAGE, describe_conditions, load_figures, render_mechanisms, write_figures
from evals.litqa import litqa
from evals.multihop import RECORDED
from evals.reports import reports
from evals.short_answers import short_answers
from evals.solvers import tenure
from tests.model_server.recording import Recording

ANSWERS: Final = RECORDED / "answers.jsonl.xz"
"""Recorded answers to the requests of the small evaluation."""
_ROOT: Final = Path(__file__).parents[1]
NOISE: Final[Mapping[str, float]] = {"report_precision": 0.05, "calls": 0.4, "searches": 0.4, "tokens": 2000}
"""Difference of a mean that is no loss; others have none. Searches end in another order in each run: three runs over
questions of MuSiQue differed by 0.034, 0.2, 0.2 and 1,240."""
COSTS: Final = frozenset({"calls", "tokens", "searches"})
"""Figures of which less is better."""
UNJUDGED: Final = frozenset({"seconds", "words"})
"""Figures that depend on the machine, or of which neither more nor less is better."""
_ROUNDING: Final = 1e-9
_HEAD: Final = """\
# Evaluation

Three tasks of 12, 12 and 6 questions are answered with the mechanisms of the settings, and without those that the
tables name; reports have effort `moderate`, the others `simple`. The answers of the model were written once, and are
replayed: a request that is not the same gets the answer to the nearest one of the same role and question.
`evals/README.md` has the commands and says what such a figure proves."""


def build_tasks() -> list[Task]:
    """Return the tasks over the recorded documents."""
    efforts = {"simple": (litqa(), short_answers()), "moderate": (reports(),)}
    for effort, tasks in efforts.items():
        for task in tasks:
            task.solver = tenure(effort=effort, mode="research")
    return [task for tasks in efforts.values() for task in tasks]


def start_server(folder: Path, recording: Recording) -> ByHandServer:
    """Return a server that replays recorded answers and keeps the requests in a folder."""
    return ByHandServer(RequestFolder(folder), recording=recording, waits=False)


def measure(mechanism: str = "") -> dict[str, dict[str, float]]:
    """Return the means of each task on a stack of its own, and how the answers of all requests were found."""
    recording = Recording.load(ANSWERS)
    with (
        tempfile.TemporaryDirectory(prefix="tenure-evals-") as folder,
        start_server(Path(folder) / "requests", recording) as server,
    ):
        own = environment(Path(folder) / "home") | {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "recorded"}
        with use_environment({**own, **MECHANISMS.get(mechanism, {})}):
            try:
                means = evaluate_tasks(Path(folder) / "logs")
            finally:
                subprocess.run([sys.executable, str(_ROOT / "client.py"), "down"], check=True, capture_output=True)
    kinds = Counter(match.kind for match in recording.matches)
    return means | {"requests": {kind: float(kinds[kind]) for kind in ("exact", "nearest", "none")}}


def evaluate_tasks(logs: Path, names: Collection[str] = ()) -> dict[str, dict[str, float]]:
    """Run the named tasks, or all, at the same time on the stack of the settings, and return the means of each."""
    tasks = [task for task in build_tasks() if not names or task.name in names]
    found = evaluate(tasks, max_tasks=len(tasks), log_dir=str(logs), display="none")
    for log in found:
        if log.status != "success":
            reason = log.error.message if log.error else log.status
            raise SystemExit(f"the evaluation of {log.eval.task} did not end: {reason}")
    return {log.eval.task: collect_means(log) for log in found}


def list_losses(means: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the figures that are worse than the stored ones by more than their noise, such as `hotpotqa f1: …`."""
    stored = load_figures()["rows"]["nothing"]
    losses = []
    for task, figures in sorted(means.items()):
        for name, value in sorted(figures.items()):
            loss = value - stored[task][name] if name in COSTS else stored[task][name] - value
            if name not in UNJUDGED and loss > NOISE.get(name, 0.0) + _ROUNDING:
                losses.append(f"{task} {name}: {value:.3g} instead of {stored[task][name]:.3g}")
    return losses


def store(rows: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    """Write the figures of each mechanism, with their conditions, and the page that shows them."""
    conditions = "recorded answers, the settings' own model for vectors"
    write_figures(load_figures() | describe_conditions() | {"conditions": conditions, "rows": rows})
    PAGE.write_text(render_page(), encoding="utf-8")


def render_page() -> str:
    """Return the page of the stored figures."""
    figures = load_figures()
    rows: dict[str, dict[str, dict[str, float]]] = figures["rows"]
    conditions = f"Measured on {figures['date']} at commit `{figures['commit']}`: {figures['conditions']}."
    parts = [_HEAD, conditions]
    for task in rows["nothing"]:
        table = {name: means[task] for name, means in rows.items() if name == "nothing" or _differs(rows, name, task)}
        alike = [name for name in rows if name not in table]
        parts += [f"## {task}", render_table(table)]
        parts += [f"Without effect: {', '.join(alike)}."] if alike else []
    return "\n\n".join([*parts, *render_mechanisms(figures)]) + "\n"


def _differs(rows: Mapping[str, Mapping[str, Mapping[str, float]]], name: str, task: str) -> bool:
    """Return whether a mechanism changes a figure of a task by more than its noise."""
    usual, other = rows["nothing"][task], rows[name][task]
    return any(abs(usual[figure] - other[figure]) > NOISE.get(figure, 0.0) for figure in usual if figure != "seconds")


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m evals.small", description=__doc__.splitlines()[0])
    parser.add_argument("--without", action="append", choices=MECHANISMS, default=[], help="mechanism; repeatable")
    parser.add_argument("--store", action="store_true", help="store the figures and write the page")
    given = parser.parse_args()
    rows = {name or "nothing": measure(name) for name in ("", *given.without)}
    if given.store:
        store(rows)
    for task in rows["nothing"]:
        print(f"{task}\n\n{render_table({name: means[task] for name, means in rows.items()})}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
