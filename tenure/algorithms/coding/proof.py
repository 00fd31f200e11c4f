"""Judge a change by the tests of its project, before and after it.

A test counts as failing or passing on one state of the files only if all its runs there agree; otherwise it is flaky
and shows nothing. A fix is proved by a test that failed before and passes now and that the patch has not changed, or by
a reproduction of the fault that was written first, failed on the old files and passes on the new ones. If a patch
rewrites a test and only the version of the commit fails, the tests decide nothing: the old text may state the fault.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tenure.contracts.coding.repositories import (
    CheckReport,
    ProjectTest,
    ProjectTestReport,
    Proof,
)
from tenure.contracts.sandbox import ProofLevel

REPETITIONS: Final = 3
"""Repetitions of each test that decides, on both states. Four runs show a test that fails in a third of its runs with a
probability of 79 % on one state, 1 − (2/3)⁴ − (1/3)⁴, and of 96 % on one of both."""
MAX_REPEATED: Final = 20
"""Tests that are repeated; more of them have not changed by chance."""

_PROOF_RANK: Final[dict[ProofLevel, int]] = {
    **{"none": 0, "exit_code": 1, "tests_in_same_process": 2, "tests_in_other_process": 3},
    "values_compared_outside": 4,
}

Behaviour = Literal["passing", "failing", "flaky", "unknown"]


@dataclass(frozen=True)
class TestEvidence:
    """Runs of the tests of a project on the files before and after a change.

    Args:
        before: tests of the commit on the files of the commit, the whole suite first, then repetitions.
        after: tests of the patch on the files of the patch, the whole suite first, then repetitions.
        reproduced: new and changed tests of the patch on the code of the commit, then repetitions.
        original: tests of the commit on the code of the patch, if the patch changes tests, then repetitions.
        changed_tests: files of tests that the patch changes.
        targets: tests that the task names, as far as it names any.
        checks_before: linters and type checkers on the files of the commit.
        checks_after: the same on the files of the patch.
    """

    __test__ = False  # not a pytest class

    before: tuple[ProjectTestReport, ...]
    after: tuple[ProjectTestReport, ...]
    reproduced: tuple[ProjectTestReport, ...] = ()
    original: tuple[ProjectTestReport, ...] = ()
    changed_tests: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    checks_before: CheckReport | None = None
    checks_after: CheckReport | None = None


def list_repetitions(evidence: TestEvidence) -> tuple[str, ...]:
    """Return the tests that decide and so have to be repeated on both states, the broken ones first."""
    runs = _Comparison(evidence)
    # A test that does not exist cannot be selected; pytest then runs none of the others either.
    broken = [test.id for test in runs.list_tests("passing", "failing") if not runs.is_gone(test.id)]
    fixed = [test.id for test in runs.list_tests("failing", "passing")]
    reproductions = runs.list_reproductions(or_unknown=True)
    return tuple(dict.fromkeys([*broken, *evidence.targets, *fixed, *reproductions]))[:MAX_REPEATED]


def judge_evidence(evidence: TestEvidence) -> Proof:
    """Return the verdict on a change."""
    runs = _Comparison(evidence)
    failing_now = runs.list_tests("passing", "failing")
    rewritten = [test for test in failing_now if runs.is_rewritten(test.id)]
    broken = [test for test in failing_now if test not in rewritten]
    fixed = runs.list_tests("failing", "passing")
    proving = [test for test in fixed if runs.is_unchanged_proof(test.id)]
    reproductions = runs.list_reproductions()
    unmet = [name for name in evidence.targets if runs.find_after(name) != "passing"]
    unmet += [test.id for test in runs.list_new("failing")]
    checks, complaints = compare_checks(evidence.checks_before, evidence.checks_after)
    verdict: Literal["proved", "unproved", "failed", "regressed"]
    if broken:
        verdict = "regressed"
    elif unmet or _stopped_running(evidence):
        verdict = "failed"
    elif (reproductions or _has_fixed_target(evidence, proving)) and not rewritten and not _find_gap(evidence):
        verdict = "proved"
    else:
        verdict = "unproved"
    failing = runs.list_tests("failing", "failing")
    return Proof(
        verdict=verdict,
        fixed=tuple(fixed),
        failing=tuple([*failing, *runs.list_new("failing")]),
        broken=tuple(broken),
        rewritten=tuple(rewritten),
        flaky=tuple(runs.list_flaky()),
        kept=max((report.kept for report in evidence.after), default=0),
        changed_tests=evidence.changed_tests,
        reproduction=_show(reproductions),
        checks=tuple(checks),
        proof=_find_level(evidence),
        notes=(*_list_notes(evidence, fixed, proving, failing, reproductions, unmet, rewritten), *complaints),
    )


class _Runs:
    """Results of each test on one state."""

    def __init__(self, reports: Iterable[ProjectTestReport]) -> None:
        self.tests: dict[str, ProjectTest] = {}
        self._outcomes: dict[str, set[bool]] = {}
        for report in reports:
            for test in (*report.tests, *report.lost):
                if test.outcome == "skipped":
                    continue
                self._outcomes.setdefault(test.id, set()).add(test.outcome == "passed")
                if test.id not in self.tests or test.outcome != "passed":
                    self.tests[test.id] = test

    def find(self, name: str) -> Behaviour:
        """Return how a test behaves."""
        outcomes = self._outcomes.get(name, set())
        if len(outcomes) > 1:
            return "flaky"
        return "unknown" if not outcomes else "passing" if True in outcomes else "failing"

    @property
    def names(self) -> Iterable[str]:
        """Tests that were run."""
        return self._outcomes


class _Comparison:
    """Behaviour of tests on both states."""

    def __init__(self, evidence: TestEvidence) -> None:
        self._evidence = evidence
        self._before, self._after = _Runs(evidence.before), _Runs(evidence.after)
        self._original = _Runs(evidence.original) if evidence.original else None
        self._reproduced = _Runs(evidence.reproduced)
        # A test that a report of the new state names as lost passed in the old one, whose list may be cut.
        self._lost = {test.id for report in (*evidence.after, *evidence.original) for test in report.lost}
        self._gone = {test.id for report in evidence.after for test in report.lost}
        self._gone -= {test.id for report in evidence.after for test in report.tests}
        self._lost_in_original = {test.id for report in evidence.original for test in report.lost}

    def find_before(self, name: str) -> Behaviour:
        """Return how a test behaves before the change."""
        behaviour = self._before.find(name)
        return "passing" if behaviour == "unknown" and name in self._lost else behaviour

    def find_after(self, name: str) -> Behaviour:
        """Return how a test behaves after the change; the version of the commit decides if there are two."""
        original = self._original.find(name) if self._original is not None else "unknown"
        current = self._after.find(name)
        if original == "unknown":
            return "passing" if self._passes_in_original(name) else current
        # The patch deletes or rewrites the test: the one of the commit is the contract.
        return "flaky" if "flaky" in (original, current) else original

    def list_tests(self, before: Behaviour, after: Behaviour) -> list[ProjectTest]:
        """Return the tests that behave in a way before and in another one after."""
        names = [name for name in self._names if self.find_before(name) == before and self.find_after(name) == after]
        return [self._get_test(name, after) for name in names]

    def list_flaky(self) -> list[ProjectTest]:
        """Return the tests whose runs on one state differ."""
        names = [name for name in self._names if "flaky" in (self.find_before(name), self.find_after(name))]
        return [self._get_test(name, "failing") for name in names]

    def list_reproductions(self, *, or_unknown: bool = False) -> list[str]:
        """Return the tests of the patch that fail on the code of the commit and pass on that of the patch.

        The report of a whole suite names only some of the tests that pass, so a result may be unknown until the test
        is repeated.
        """
        accepted = {"passing", "unknown"} if or_unknown else {"passing"}
        names = [name for name in self._reproduced.names if self._reproduced.find(name) == "failing"]
        return [name for name in names if self._after.find(name) in accepted]

    def list_new(self, after: Behaviour) -> list[ProjectTest]:
        """Return the tests that only the patch has, and that behave in a way."""
        names = [name for name in self._after.names if self.find_before(name) == "unknown"]
        return [self._get_test(name, after) for name in names if self._after.find(name) == after]

    def is_unchanged_proof(self, name: str) -> bool:
        """Return whether a fixed test passes in the version of the commit."""
        return self._original is None or self._original.find(name) == "passing"

    def is_gone(self, name: str) -> bool:
        """Return whether a test that passed before was not run with the patch."""
        return name in self._gone

    def is_rewritten(self, name: str) -> bool:
        """Return whether only the version of the commit of a failing test fails, which the patch rewrites."""
        if name not in self._gone:
            return self._original is not None and self._after.find(name) in ("passing", "unknown")
        # `test_limits[8-2 weeks]` is gone if the patch changes that parameter; the function is still there.
        function, bracket, _ = name.partition("[")
        others = (*self._after.names, *self._reproduced.names)
        return bool(bracket) and any(other.startswith(f"{function}[") and other not in self._gone for other in others)

    def _passes_in_original(self, name: str) -> bool:
        """Return whether a test that the patch deletes passes in the version of the commit, whose report may be cut."""
        reports = self._evidence.original[:1]
        is_complete = any(not report.error and report.lost_count == len(report.lost) for report in reports)
        return is_complete and name in self._gone and name not in self._lost_in_original

    @property
    def _names(self) -> list[str]:
        original = self._original.names if self._original is not None else ()
        return list(dict.fromkeys([*self._before.names, *self._after.names, *original, *self._lost]))

    def _get_test(self, name: str, after: Behaviour) -> ProjectTest:
        """Return a test with the message that concerns it: of the last failure, or of the failure that was fixed."""
        runs = [self._after, *([self._original] if self._original is not None else []), self._before]
        reported = [run.tests[name] for run in (reversed(runs) if after == "passing" else runs) if name in run.tests]
        failed = [test for test in reported if _is_failure(test)]
        return (failed or reported or [ProjectTest(id=name, outcome="error")])[0]


def _is_failure(test: ProjectTest) -> bool:
    return test.outcome in ("failed", "error")


def _has_fixed_target(evidence: TestEvidence, proving: Sequence[ProjectTest]) -> bool:
    """Return whether the tests that had to be fixed are."""
    names = {test.id for test in proving}
    return bool(names & set(evidence.targets)) if evidence.targets else bool(names)


def _stopped_running(evidence: TestEvidence) -> bool:
    """Return whether the tests can no longer be run, although they could be before."""
    could = bool(evidence.before) and not evidence.before[0].error
    return could and any(report.error for report in (*evidence.after[:1], *evidence.original[:1]))


def _find_gap(evidence: TestEvidence) -> str:
    """Return the reason for which the whole suite says nothing about other behaviour, or an empty text."""
    if not evidence.before or not evidence.after:
        return "the tests were not run on both states"
    report = next((report for report in (evidence.before[0], evidence.after[0]) if report.error), None)
    return f"the tests could not be run to their end: {report.error}" if report is not None else ""


def _find_level(evidence: TestEvidence) -> ProofLevel:
    reports = [*evidence.before[:1], *evidence.after[:1], *evidence.original[:1]]
    levels: list[ProofLevel] = [report.proof for report in reports]
    return min(levels, key=_PROOF_RANK.__getitem__, default="none")


def _list_notes(
    evidence: TestEvidence,
    fixed: Sequence[ProjectTest],
    proving: Sequence[ProjectTest],
    failing: Sequence[ProjectTest],
    reproductions: Sequence[str],
    unmet: Sequence[str],
    rewritten: Sequence[ProjectTest],
) -> list[str]:
    notes = [gap] if (gap := _find_gap(evidence)) else []
    if evidence.changed_tests and not evidence.original and not evidence.reproduced:
        notes.append("the patch changes tests, which were not compared with those of the commit")
    if rewritten:
        notes.append(
            f"whether the new or the former text of {len(rewritten)} rewritten tests is right, a person decides"
        )
    if only := [test.id for test in fixed if test not in proving and test.id not in reproductions]:
        notes.append(f"fixed only in the version of the patch, which changes the tests: {_show(only)}")
    if unmet:
        notes.append(f"failing with the change: {_show(unmet)}")
    if evidence.reproduced and not reproductions:
        notes.append("no new test of the patch failed before the change, so that they do not show the fault")
    if failing and not unmet:
        notes.append(f"{len(failing)} tests failed before and still fail")
    if not fixed and not reproductions:
        notes.append("no test failed before and passes now, so that no test shows the fault")
    level = _find_level(evidence)
    if level == "tests_in_same_process":
        notes.append("the tests run in the process of the program, which could influence them")
    elif level == "exit_code":
        notes.append("the result is that of the project's own test runner and its exit code")
    notes += [note for report in evidence.after for note in report.notes]
    return list(dict.fromkeys(notes))


def compare_checks(before: CheckReport | None, after: CheckReport | None) -> tuple[list[str], list[str]]:
    """Return a line for each linter and type checker, and the complaints that are new."""
    lines, complaints = [], []
    earlier = {check.command: check for check in before.checks} if before is not None else {}
    for check in after.checks if after is not None else ():
        if check.error:
            lines.append(f"{check.command}: not run ({check.error})")
            continue
        first = earlier.get(check.command)
        if first is None or first.error:
            lines.append(f"{check.command}: {len(check.complaints)} complaints, not compared")
            continue
        new = _subtract(check.complaints, first.complaints)
        lines.append(f"{check.command}: {len(new)} new complaints" if new else f"{check.command}: nothing new")
        complaints += [f"new complaint of {check.command.split()[0]}: {line}" for line in new[:5]]
    return lines, complaints


def _subtract(lines: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the lines beyond those that are known, each as often as it is new; totals are no complaints."""
    left: dict[str, int] = {}
    for line in known:
        left[line] = left.get(line, 0) + 1
    new = []
    for line in lines:
        if left.get(line, 0):
            left[line] -= 1
        elif not _is_total(line):
            new.append(line)
    return new


def _is_total(line: str) -> bool:
    """Return whether a line counts complaints: `Found 3 errors.`, `12 problems`, `Success: no issues`."""
    return line.startswith(("Found ", "Success")) or line.split(" ")[0].isdigit()


def _show(names: Sequence[str]) -> str:
    listed = ", ".join(names[:5])
    return f"{listed} and {len(names) - 5} more" if len(names) > 5 else listed
