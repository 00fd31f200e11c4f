"""Solve instances in the format of SWE-bench, and evaluate patches: `python -m benchmarks.swebench COMMAND`.

    run FILE --clones FOLDER --into FOLDER [--system NAME] [--id ID …] [--by-hand] [-- OPTIONS OF START]
        work on each instance and add its patch to `SYSTEM/predictions.jsonl`, which the official evaluation reads
    evaluate FILE PREDICTIONS --clones FOLDER --into FOLDER
        apply each patch and the hidden tests to a new copy, run the tests, and write `SYSTEM/verdicts.json`
    table FILE --into FOLDER
        print what the systems solved and what it cost, side by side

FILE is JSONL, JSON or Parquet as the benchmark publishes it. A clone is `OWNER+NAME/repo`, `OWNER__NAME` or `NAME`.
`evaluate` needs an `install_config` in each instance and its environment in the folder, which
`python -m benchmarks.repositories mine` writes; for the official data, give the predictions to the official evaluation.
With `--by-hand`, the model is a server whose requests wait in `SYSTEM/ID/requests` for `python -m evals.by_hand`;
else it is the one of `OPENAI_BASE_URL`. The system `tenure-offline` has none.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks.repositories.clones import find_clone, make_base
from benchmarks.repositories.conversations import Usage, count_usage
from benchmarks.repositories.environments import Environments, InstallationFailed
from benchmarks.repositories.evaluation import Verdict, evaluate
from benchmarks.repositories.instances import (
    Instance,
    Prediction,
    append_prediction,
    read_instances,
    read_predictions,
)
from benchmarks.repositories.systems import FAILED, Attempt, MiniSweAgent, OfflineTenure, System, Tenure
from benchmarks.support.columns import format_columns
from evals.by_hand.folder import RequestFolder
from evals.by_hand.server import ByHandServer

_PREDICTIONS: Final = "predictions.jsonl"
_VERDICTS: Final = "verdicts.json"


class Bench:
    """Instances, and the folder of what systems make of them.

    Args:
        file: file of the instances.
        into: folder of environments and of each system.
    """

    def __init__(self, file: Path, into: Path) -> None:
        self._file, self._into = file, into
        self._environments = Environments(into / "environments")

    def run(self, system: System, clones: Path, ids: Sequence[str], *, by_hand: bool) -> None:
        """Run a system on instances without a prediction."""
        done = {prediction.instance_id for prediction in self._read_predictions(system.name)}
        for instance in read_instances(self._file, ids):
            if instance.instance_id in done:
                continue
            folder = self._into / system.name / instance.instance_id
            base = folder / "base"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            make_base(find_clone(clones, instance.repo), instance.base_commit, base)
            with _serve_model(folder, by_hand=by_hand) as base_url:
                attempt = system.solve(instance, base, self._find_environment(instance, folder), folder, base_url)
            self._store(system.name, instance, attempt, folder)

    def _find_environment(self, instance: Instance, folder: Path) -> Path:
        """Return the environment of an instance; an empty folder for the official data."""
        try:
            if instance.install_config:
                return self._environments.find(instance.install_config)
        except InstallationFailed as failed:
            print(failed, file=sys.stderr)
        (folder / "environment").mkdir()
        return folder / "environment"

    def _store(self, system: str, instance: Instance, attempt: Attempt, folder: Path) -> None:
        (folder / "attempt.json").write_text(json.dumps(asdict(attempt), indent=1), encoding="utf-8")
        if attempt.status == FAILED:
            print(f"{instance.instance_id:44} {system:16} failed: {attempt.note}", file=sys.stderr)
            return
        prediction = Prediction(instance.instance_id, system, attempt.patch)
        append_prediction(self._into / system / _PREDICTIONS, prediction)
        lines = len(attempt.patch.splitlines())
        print(f"{instance.instance_id:44} {system:16} {attempt.status}, {lines} lines, {attempt.seconds} s", flush=True)

    def _read_predictions(self, system: str) -> tuple[Prediction, ...]:
        path = self._into / system / _PREDICTIONS
        return read_predictions(path) if path.exists() else ()

    def evaluate(self, predictions: Path, clones: Path) -> dict[str, Verdict]:
        """Evaluate the predictions of a file, and store the verdicts in its folder."""
        instances = {one.instance_id: one for one in read_instances(self._file)}
        verdicts: dict[str, Verdict] = {}
        for prediction in read_predictions(predictions):
            instance = instances[prediction.instance_id]
            if instance.install_config is None:
                raise SystemExit(f"{instance.instance_id} has no install_config: use the official evaluation")
            environment = self._environments.find(instance.install_config)
            clone, work = find_clone(clones, instance.repo), self._into / "work" / "evaluation"
            work.parent.mkdir(exist_ok=True)
            verdict = evaluate(instance, prediction.model_patch, clone, environment, work)
            verdicts[instance.instance_id] = verdict
            print(f"{instance.instance_id:44} {_describe(verdict)}", flush=True)
        document = json.dumps({name: asdict(verdict) for name, verdict in verdicts.items()}, indent=1)
        predictions.with_name(_VERDICTS).write_text(document, encoding="utf-8")
        return verdicts

    def build_table(self) -> dict[str, dict[str, Any]]:
        """Return the figures of each system over the instances that all of them have tried."""
        names = (Tenure.name, MiniSweAgent.name)
        systems = [name for name in names if (self._into / name / _VERDICTS).exists()]
        verdicts = {system: json.loads((self._into / system / _VERDICTS).read_text()) for system in systems}
        common = set.intersection(*(set(one) for one in verdicts.values())) if verdicts else set()
        return {system: self._sum(system, verdicts[system], sorted(common)) for system in systems}

    def _sum(self, system: str, verdicts: Mapping[str, Mapping[str, Any]], ids: Sequence[str]) -> dict[str, Any]:
        usages = [self._count(system, name) for name in ids]
        attempts = [json.loads((self._into / system / name / "attempt.json").read_text()) for name in ids]
        return {
            "instances": len(ids),
            "solved": sum(verdicts[name]["resolved"] for name in ids),
            "patches_that_break_a_test": sum(bool(verdicts[name]["broken"]) for name in ids),
            "calls": sum(usage.calls for usage in usages),
            "repeated_calls": sum(usage.repeated for usage in usages),
            "prompt_tokens": sum(usage.prompt_tokens for usage in usages),
            "of_these_cached": sum(usage.cached_tokens for usage in usages),
            "of_these_new": sum(usage.new_tokens for usage in usages),
            "answer_tokens": sum(usage.answer_tokens for usage in usages),
            "seconds": round(sum(attempt["seconds"] for attempt in attempts)),
        }

    def _count(self, system: str, name: str) -> Usage:
        folder = self._into / system / name / "requests"
        return count_usage(RequestFolder(folder).load_all()) if folder.exists() else Usage()

    def show_table(self) -> None:
        """Print the sums of all systems, then one line for each instance."""
        figures = self.build_table()
        if not figures:
            raise SystemExit("no system has verdicts")
        print(format_columns(figures))
        print()
        for system in figures:
            verdicts = json.loads((self._into / system / _VERDICTS).read_text())
            for name, verdict in verdicts.items():
                usage = self._count(system, name)
                tokens = f"{usage.calls:3} calls, {usage.prompt_tokens:7} prompt, {usage.answer_tokens:6} answer"
                print(f"{system:16} {name:44} {'solved' if verdict['resolved'] else 'not solved':10} {tokens}")


def _describe(verdict: Verdict) -> str:
    if not verdict.applied:
        return f"not applied: {verdict.reason}"
    word = "resolved" if verdict.resolved else "not resolved"
    return f"{word}: {len(verdict.unfixed)} not fixed, {len(verdict.broken)} broken, {verdict.kept} kept"


@contextmanager
def _serve_model(folder: Path, *, by_hand: bool) -> Iterator[str]:
    """Yield the URL of the model server."""
    if not by_hand:
        yield os.environ.get("OPENAI_BASE_URL", "")
        return
    with ByHandServer(RequestFolder(folder / "requests")) as server:
        print(f"requests wait in {folder / 'requests'}", flush=True)
        yield server.base_url


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit status."""
    given = _parse(sys.argv[1:] if arguments is None else list(arguments))
    bench = Bench(given.file, given.into.resolve())
    match given.command:
        case "run":
            bench.run(_make_system(given), given.clones.resolve(), given.id, by_hand=given.by_hand)
        case "evaluate":
            bench.evaluate(given.predictions, given.clones.resolve())
        case _:
            bench.show_table()
    return 0


def _make_system(given: argparse.Namespace) -> System:
    if given.system == MiniSweAgent.name:
        return MiniSweAgent(given.peer_python)
    return (OfflineTenure if given.system == OfflineTenure.name else Tenure)(given.options)


def _parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the command line; the options of `start` follow `--`."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.swebench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("file", type=Path, metavar="FILE", help="instances")
    common.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="folder of environments and results")
    clones = argparse.ArgumentParser(add_help=False)
    clones.add_argument("--clones", type=Path, required=True, metavar="FOLDER", help="folder of clones")
    running = commands.add_parser("run", parents=[common, clones], help="work on instances")
    systems = (Tenure.name, MiniSweAgent.name, OfflineTenure.name)
    running.add_argument("--system", choices=systems, default=Tenure.name, help="who works")
    running.add_argument("--id", action="append", default=[], metavar="ID", help="only this instance; may be repeated")
    running.add_argument("--by-hand", action="store_true", help="the answers of the model are written by hand")
    running.add_argument("--peer-python", type=Path, metavar="FILE", help="interpreter that has mini-swe-agent")
    evaluating = commands.add_parser("evaluate", help="run the hidden tests", parents=[common, clones])
    evaluating.add_argument("predictions", type=Path, metavar="PREDICTIONS", help="file of the patches")
    commands.add_parser("table", parents=[common], help="compare the systems")
    given = parser.parse_args(arguments[:split])
    given.options = arguments[split + 1 :]
    if given.command == "run" and given.system == MiniSweAgent.name and given.peer_python is None:
        parser.error("mini-swe-agent needs --peer-python")
    return given


if __name__ == "__main__":
    sys.exit(main())
