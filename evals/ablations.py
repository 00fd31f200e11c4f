"""Compare an evaluation with and without single mechanisms: `python -m evals.ablations TASK [--limit N] [--without M]`.

`TASK` is a file such as `evals/hotpotqa.py`. Each mechanism is switched off by settings, so the worker of the local
stack is replaced for each row; runs that an earlier table has made are found again.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, get_args

from inspect_ai import eval as evaluate
from inspect_ai.log import EvalLog

from tenure.contracts.choices import ReasoningStrategy

MECHANISMS: Final[Mapping[str, Mapping[str, str]]] = {
    "hyde": {"TENURE_ROLES__HYPOTHETICAL_DOCUMENT__MODEL": "offline"},
    "planner": {"TENURE_ROLES__PLANNER__MODEL": "offline"},
    "decomposer": {"TENURE_ROLES__DECOMPOSER__MODEL": "offline"},
    "outline": {"TENURE_ROLES__OUTLINER__MODEL": "offline"},
    "second cycle": {"TENURE_MAX_CYCLES": "1"},
    "further plans": {"TENURE_MAX_REPLANS": "0"},
    "review": {"TENURE_ROLES__REPORT_REVIEWER__MODEL": "offline"},
    "claim check": {"TENURE_ROLES__CLAIM_CHECKER__MODEL": "offline"},
    "disputes": {"TENURE_ROLES__DISPUTE_JUDGE__MODEL": "offline"},
    "contrast": {"TENURE_ROLES__STANCE_JUDGE__MODEL": "offline"},
    "names of topics": {"TENURE_ROLES__TOPIC_NAMER__MODEL": "offline"},
    "reworded queries": {"TENURE_ROLES__QUERY_REFINER__MODEL": "offline"},
    "strategies": {"TENURE_STRATEGY": "direct"},
    "reasoning": {"TENURE_REASONING": "none"},
    **{
        f"all reasoning but {strategy.replace('_', ' ')}": {"TENURE_REASONING": strategy}
        for strategy in get_args(ReasoningStrategy)
    },
    "graph": {"TENURE_SEARCH_MODE": "hybrid"},
    "vectors": {"TENURE_SEARCH_MODE": "sparse"},
    "limit of a source": {"TENURE_MAX_PER_SOURCE": "60"},
    "novelty": {"TENURE_MIN_NOVELTY": "0"},
    "relevance gate": {"TENURE_MIN_RELEVANCE": "0"},
}
"""Settings that switch a mechanism off."""


@contextmanager
def use_environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Add environment variables while a block runs."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def measure(
    task: str, arguments: Mapping[str, Any], mechanism: str, limit: int | None, folder: Path
) -> dict[str, float]:
    """Run an evaluation without a mechanism, or with all of them for an empty name, and return its means."""
    with use_environment(MECHANISMS.get(mechanism, {})):
        (log,) = evaluate(task, task_args=dict(arguments), limit=limit, log_dir=str(folder), display="none")
    if log.status != "success":
        raise SystemExit(f"the evaluation without {mechanism or 'nothing'} failed: {log.error and log.error.message}")
    return collect_means(log)


def collect_means(log: EvalLog) -> dict[str, float]:
    """Return the means of all scores, and the seconds of a sample."""
    scores = log.results.scores if log.results else []
    means = {score.name: score.metrics["mean"].value for score in scores if score.metrics}
    seconds = [sample.total_time or 0.0 for sample in log.samples or ()]
    return means | {"seconds": sum(seconds) / len(seconds)}


def render_table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Return a Markdown table with one row for each mechanism, by name."""
    columns = list(next(iter(rows.values())))
    lines = [f"| without | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(f'{row[column]:.3g}' for column in columns)} |" for name, row in rows.items()]
    return "\n".join(lines)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m evals.ablations", description=__doc__)
    parser.add_argument("task", help="file of a task")
    parser.add_argument("-T", dest="arguments", action="append", default=[], metavar="NAME=VALUE", help="of the task")
    parser.add_argument("--limit", type=int, metavar="N", help="number of samples (default: all)")
    parser.add_argument("--without", action="append", choices=MECHANISMS, help="mechanism (default: each)")
    parser.add_argument("--logs", type=Path, default=Path("logs"), metavar="DIR", help="for the logs (default: logs)")
    given = parser.parse_args()
    arguments = dict(one.split("=", 1) for one in given.arguments)
    names = given.without or list(MECHANISMS)
    rows = {name or "nothing": measure(given.task, arguments, name, given.limit, given.logs) for name in ("", *names)}
    print(render_table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
