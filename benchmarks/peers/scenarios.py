"""The scenarios that every system goes through, each in a folder of its own."""

import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.peers.documents import QUESTIONS, UNANSWERABLE, Corpus, copy_documents
from benchmarks.peers.environments import PeerEnvironments, build_variables
from benchmarks.peers.figures import count_repeated, count_usage
from benchmarks.peers.model import FAULT_KINDS, Behaviour, PeerModel
from benchmarks.peers.process import Measured, kill_all, run_process
from benchmarks.peers.systems import System
from benchmarks.peers.verdicts import admits_absence, describe_outcome, find_inventions, is_torn, mentions_failure
from tests.model_server.ledger import BilledRequest

TIMEOUT_SECONDS: Final = 900.0
STORING_SECONDS: Final = 1.0
"""Time that a system has for storing an answer before it is killed."""
PLAIN: Final = Behaviour()
SCENARIOS: Final = ("cost", "crash", "broken", "absent", "invented")
"""Names of all scenarios; `crash` needs the figures of `cost`."""

Figures = dict[str, Any]


@dataclass(frozen=True)
class Answered:
    """One question that a system has answered or not."""

    measured: Measured
    report: str
    """Empty if there is none."""
    entries: Sequence[BilledRequest]
    """Bills of its calls."""


class Stage:
    """A system with a state of its own, for one scenario; it ends all processes of the system when it is closed.

    Args:
        system: the system.
        folder: folder of the scenario; it must not exist.
        model: the model server.
        environments: environments with the system.
    """

    def __init__(self, system: System, folder: Path, model: PeerModel, environments: PeerEnvironments) -> None:
        self._system = system
        self._folder = folder
        self._model = model
        self._python = environments.install(system)
        self._state = folder / "state"
        self._state.mkdir(parents=True)
        self._documents = copy_documents(folder / "documents")
        self._variables = build_variables(system, self._state, model.environment, environments.find_tokenizers())
        self._number = 0

    def ask(
        self,
        question: str,
        behaviour: Behaviour = PLAIN,
        *,
        stop_after: int | None = None,
        resume: bool = False,
        timeout: float = TIMEOUT_SECONDS,
    ) -> Answered:
        """Ask a question in a new process.

        Args:
            question: the question.
            behaviour: deviations of the model.
            stop_after: kill all processes of the system when it makes a call after this number of calls.
            resume: whether an earlier process of this stage was killed.
            timeout: seconds after which its processes are killed.
        """
        self._number += 1
        report = self._folder / f"report-{self._number}.md"
        known = len(self._model.billed)
        if not resume:
            self._model.begin_run(question, behaviour, stop_after)
        task = ("--question", question, "--documents", str(self._documents), "--folder", str(self._state))
        command = [str(self._python), "-m", self._system.starter, *task, "--report", str(report)]
        if resume and self._system.can_resume:
            command.append("--resume")
        watch = None if stop_after is None else self._wait_for_limit
        measured = run_process(command, self._variables, self._state, timeout, watch)
        self._model.release_when_idle()
        text = report.read_text(encoding="utf-8") if report.exists() else ""
        return Answered(measured, text, self._model.billed[known:])

    def _wait_for_limit(self, is_running: Callable[[], bool]) -> bool:
        """Wait until a call waits at the limit and all others are answered; return False if the process ends before."""
        while is_running():
            if self._model.reached.wait(0.05) and not self._model.is_answering:
                threading.Event().wait(STORING_SECONDS)
                return True
        return False

    def close(self) -> None:
        """End all processes of the system."""
        kill_all(self._state)


def measure_cost(stage: Stage, corpus: Corpus, questions: Sequence[str]) -> list[Figures]:
    """Answer questions one after another with the same state."""
    rows = []
    for question in questions:
        answered = stage.ask(question)
        rows.append(
            {
                "question": question,
                "outcome": describe_outcome(answered.measured.exit_code, answered.report),
                **asdict(count_usage(answered.entries)),
                "seconds": answered.measured.seconds,
                "cpu_seconds": answered.measured.cpu_seconds,
                "peak_megabytes": answered.measured.peak_megabytes,
                "sentences": len(corpus.find_in(answered.report)),
                "tail": "" if answered.report else answered.measured.tail,
            }
        )
    return rows


def measure_crash(stage: Stage, question: str, calls: int) -> Figures:
    """Kill a system in the middle of a question, and continue in the documented way.

    Args:
        stage: the system.
        question: the question.
        calls: calls of an undisturbed run.
    """
    before = stage.ask(question, stop_after=max(1, calls // 2))
    after = stage.ask(question, resume=True)
    answered = [entry for entry in before.entries if entry.delivered]
    repeated, tokens = count_repeated(answered, after.entries)
    return {
        "undisturbed_calls": calls,
        "calls_before": count_usage(answered).calls,
        "calls_after": count_usage(after.entries).calls,
        "repeated_calls": repeated,
        "repeated_tokens": tokens,
        "outcome": describe_outcome(after.measured.exit_code, after.report),
        "seconds_after": after.measured.seconds,
        "tail": "" if after.report else after.measured.tail,
    }


def measure_broken(stage: Stage, corpus: Corpus, behaviour: Behaviour, fragments: Sequence[tuple[str, str]]) -> Figures:
    """Answer a question while every third answer is broken.

    Args:
        stage: the system.
        corpus: sentences of the documents.
        behaviour: kind and position of the broken answers.
        fragments: list of the model to which it adds the ends of truncated answers.
    """
    answered = stage.ask(QUESTIONS[0], behaviour)
    return {
        "first": behaviour.first,
        "outcome": describe_outcome(answered.measured.exit_code, answered.report),
        **asdict(count_usage(answered.entries)),
        "seconds": answered.measured.seconds,
        "sentences": len(corpus.find_in(answered.report)),
        "fragments": sum(is_torn(answered.report, *fragment) for fragment in fragments),
        "disclosed": mentions_failure(answered.report),
        "tail": "" if answered.report else answered.measured.tail,
    }


def measure_absent(stage: Stage, corpus: Corpus) -> Figures:
    """Ask a question on which the documents say nothing."""
    answered = stage.ask(UNANSWERABLE)
    return {
        "outcome": describe_outcome(answered.measured.exit_code, answered.report),
        "admits": admits_absence(answered.report),
        **asdict(count_usage(answered.entries)),
        "sentences": len(corpus.find_in(answered.report)),
        "beginning": answered.report[:400],
        "tail": "" if answered.report else answered.measured.tail,
    }


def measure_invented(stage: Stage, question: str) -> Figures:
    """Answer a question while every text of the model contains inventions, and every check confirms them."""
    answered = stage.ask(question, Behaviour(plants=True))
    return {
        "outcome": describe_outcome(answered.measured.exit_code, answered.report),
        **find_inventions(answered.report),
        "tail": "" if answered.report else answered.measured.tail,
    }


class Comparison:
    """Run scenarios in a folder.

    Args:
        folder: folder of all states and reports.
        environments: environments of the systems.
        latency: seconds of every call.
    """

    def __init__(self, folder: Path, environments: PeerEnvironments, latency: float) -> None:
        self._folder = folder
        self._environments = environments
        self._latency = latency
        self._corpus = Corpus(copy_documents(_make_new(folder / "corpus")))

    def measure(
        self,
        system: System,
        scenarios: Sequence[str],
        questions: int,
        save: Callable[[Figures], None] = lambda figures: None,
    ) -> Figures:
        """Return the figures of a system; a scenario that is not named has none.

        Args:
            system: the system.
            scenarios: names of scenarios.
            questions: number of questions in `cost`.
            save: called with the figures so far after each scenario.
        """
        self._environments.install(system)
        figures: Figures = {"megabytes": self._environments.measure_megabytes(system)}
        with PeerModel(self._latency, self._corpus) as model:
            for name in (name for name in SCENARIOS if name in scenarios):
                print(f"{system.name}: {name}", file=sys.stderr, flush=True)
                figures[name] = self._measure_scenario(model, system, name, questions, figures)
                save(figures)
        return figures

    def _measure_scenario(self, model: PeerModel, system: System, name: str, questions: int, figures: Figures) -> Any:
        def on_stage(measure: Callable[[Stage], Any], folder: str = name) -> Any:
            stage = Stage(system, _make_new(self._folder / system.name / folder), model, self._environments)
            try:
                return measure(stage)
            finally:
                stage.close()

        match name:
            case "cost":
                return on_stage(lambda stage: measure_cost(stage, self._corpus, QUESTIONS[:questions]))
            case "crash":
                calls = figures["cost"][0]["calls"]
                return on_stage(lambda stage: measure_crash(stage, QUESTIONS[0], calls))
            case "broken":
                return {
                    kind: [
                        on_stage(partial(self._break, model, Behaviour(kind, first=first)), f"broken-{kind}-{first}")
                        for first in range(1, PLAIN.every + 1)
                    ]
                    for kind in FAULT_KINDS
                }
            case "absent":
                return on_stage(lambda stage: measure_absent(stage, self._corpus))
            case _:
                return on_stage(lambda stage: measure_invented(stage, QUESTIONS[0]))

    def _break(self, model: PeerModel, behaviour: Behaviour, stage: Stage) -> Figures:
        return measure_broken(stage, self._corpus, behaviour, model.fragments)


def _make_new(folder: Path) -> Path:
    """Remove a folder of an earlier comparison, and return its path."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder
