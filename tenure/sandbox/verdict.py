"""What a run proves, judged outside of the sandbox.

A report is believed when it carries the secret of its run, names every test that the tests' own source has, and
agrees with how the process ended. Values of cases are compared here, with expectations that never went in.
"""

import ast
import json
import math
import os
from collections.abc import Iterator
from typing import Any, Final

from tenure.contracts.sandbox import Case, Outcome, TestResult, Verdict
from tenure.sandbox.output import harmless
from tenure.sandbox.supervisor import Observed, Unit, signal_name

_MOST_TRACE: Final = 6000
_BY_SIGNAL: Final = {"SIGXCPU": "cpu", "SIGXFSZ": "file"}
"""Limits that the kernel announces by a signal."""
_HARD: Final = ("memory", "output", "cpu", "file")
"""Limits that end a program."""


def of_program(seen: Observed) -> Outcome:
    """Judge a program that was run once: what it says of itself counts, which is its exit code."""
    if not seen.units:
        return ended_early(seen)
    unit = seen.units[0]
    signal = None if unit.status is None else signal_name(unit.status)
    limits = _limits(seen, unit, signal)
    code = os.WEXITSTATUS(unit.status) if unit.status is not None and os.WIFEXITED(unit.status) else None
    verdict = _stopped(limits) or ("passed" if code == 0 else "failed" if unit.status is not None else "error")
    return _outcome(seen, unit, limits).model_copy(
        update={"verdict": verdict, "proof": "exit_code", "exit_code": code, "signal": signal}
    )


def ended_early(seen: Observed) -> Outcome:
    """Judge a run that never got as far as its program."""
    verdict = _stopped(tuple(seen.limits)) or "error"
    return Outcome(
        verdict=verdict,
        limits_hit=tuple(seen.limits),
        seconds=seen.seconds,
        reason="the sandbox ended before the program began",
    )


def of_cases(seen: Observed, unit: Unit, cases: tuple[Case, ...], nonce: str) -> Outcome:
    """Judge a candidate by the values of calls."""
    lines, forged = _lines(unit, nonce)
    given = {str(line.get("id")): line for line in lines if line.get("kind") == "case"}
    tests = tuple(_case_result(case, given.get(str(number))) for number, case in enumerate(cases))
    return _judged(seen, unit, tests, "the report has not the secret of this run" if forged else "", "cases")


def _case_result(case: Case, line: dict[str, Any] | None) -> TestResult:
    """Compare the value of a call."""
    name = harmless(f"{case.function}({', '.join(json.dumps(one) for one in case.args)})"[:300])
    if line is None:
        return TestResult(name=name, passed=False, error="the call did not end")
    if "error" in line:
        return _failed(name, line, line)
    if equal(line.get("value"), case.expected, case.tolerance):
        return _with_facts(TestResult(name=name, passed=True), line)
    found, wanted = (json.dumps(one)[:200] for one in (line.get("value"), case.expected))
    wrong = TestResult(name=name, passed=False, error=harmless(f"gave {found} instead of {wanted}"))
    return _with_facts(wrong, line)


def _with_facts(result: TestResult, line: dict[str, Any]) -> TestResult:
    """Add to a result how long it took and which lines ran."""
    facts = {"seconds": _number(line.get("seconds")), "covered": _covered(line.get("covered"))}
    return result.model_copy(update=facts)


def _failed(name: str, line: dict[str, Any], facts: dict[str, Any]) -> TestResult:
    """Return what a report says of a failure."""
    error = str(line.get("error", "")).strip().split("\n")[0]
    trace = harmless(str(line.get("trace", "")))[:_MOST_TRACE]
    result = TestResult(
        name=name, passed=False, error=harmless(error)[:500], trace=trace, lines=_places(line.get("lines"))
    )
    return _with_facts(result, facts)


def equal(found: Any, wanted: Any, tolerance: float) -> bool:
    """Return whether two JSON values are the same; whole and broken numbers may be equal, a truth is no number."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, int | float) and isinstance(wanted, int | float):
        return found == wanted or _close(found, wanted, tolerance)
    if isinstance(found, list) and isinstance(wanted, list | tuple):
        same = len(found) == len(wanted)
        return same and all(equal(one, other, tolerance) for one, other in zip(found, wanted, strict=True))
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(equal(found[key], wanted[key], tolerance) for key in found)
    return type(found) is type(wanted) and bool(found == wanted)


def _close(found: float, wanted: float, tolerance: float) -> bool:
    """Return whether two numbers are near to each other, or neither is a number."""
    if math.isnan(found) or math.isnan(wanted):
        return math.isnan(found) and math.isnan(wanted)
    return tolerance > 0 and abs(found - wanted) <= tolerance


def of_tests(seen: Observed, unit: Unit, required: dict[str, bool], nonce: str) -> Outcome:
    """Judge a candidate by files of pytest; `required` tells of each test in them whether it may be skipped."""
    lines, forged = _lines(unit, nonce)
    report = _Report(lines)
    if broken := report.broken:
        outcome = _judged(seen, unit, broken, "", "tests")
        own_fault = not any(line.get("begun") for line in lines) and outcome.verdict == "failed"
        return outcome.model_copy(update={"verdict": "error", "reason": broken[0].error} if own_fault else {})
    tests = report.tests(required)
    why = ""
    if forged:
        why = "the report has not the secret of this run"
    elif any(line.get("kind") == "tampered" for line in lines):
        why = "the data of the tests was changed"
    elif report.code is None:
        why = "the tests were ended from inside"
    elif report.code == 0 and not _complete(report, tests, required, unit):
        why = "the report does not have every test"
    return _judged(seen, unit, tests, why, "tests")


def _complete(report: "_Report", tests: tuple[TestResult, ...], required: dict[str, bool], unit: Unit) -> bool:
    """Return whether a report of success has every test, and the process ended as it says."""
    missing = [name for name, skippable in required.items() if not skippable and name not in report.names]
    return bool(tests) and not missing and unit.status == 0


def _judged(seen: Observed, unit: Unit, tests: tuple[TestResult, ...], forged: str, proof: Any) -> Outcome:
    """Put the judgement together."""
    signal = None if unit.status is None else signal_name(unit.status)
    limits = _limits(seen, unit, signal)
    verdict: Verdict = "passed" if tests and all(test.passed for test in tests) else "failed"
    first = next((test.error for test in tests if not test.passed), "")
    if stopped := _stopped(limits):
        verdict, reason = stopped, f"limit reached: {', '.join(limits)}"
    elif forged:
        verdict, reason = "forged", forged
    else:
        reason = first
    code = os.WEXITSTATUS(unit.status) if unit.status is not None and os.WIFEXITED(unit.status) else None
    return _outcome(seen, unit, limits).model_copy(
        update={
            **{"verdict": verdict, "reason": reason, "proof": proof, "exit_code": code, "signal": signal},
            "tests": tests,
        }
    )


class _Report:
    """What pytest reported, test by test."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._phases: dict[str, list[dict[str, Any]]] = {}
        self._done: dict[str, dict[str, Any]] = {}
        self._places: dict[str, Any] = {}
        self._begun: list[str] = []
        self._imported: dict[str, tuple[int, ...]] = {}
        self.code: int | None = None
        self.broken: tuple[TestResult, ...] = ()
        for line in lines:
            self._take(str(line.get("kind")), str(line.get("id")), line)

    def _take(self, kind: str, name: str, line: dict[str, Any]) -> None:
        """Take note of one line."""
        if kind == "start":
            self._begun.append(name)
        elif kind == "phase":
            self._phases.setdefault(name, []).append(line)
        elif kind == "done":
            self._done[name] = line
        elif kind == "lines":
            self._places[name] = line.get("lines")
        elif kind == "imported" and not self._imported:
            self._imported = _covered(line.get("covered"))
        elif kind == "broken":
            self.broken = (*self.broken, _failed(name, line, {}))
        elif kind == "end" and isinstance(line.get("code"), int):
            self.code = int(line["code"])

    @property
    def names(self) -> set[str]:
        """The tests that came to their end, without their parameters."""
        return {name.split("[")[0] for name in self._phases}

    def tests(self, required: dict[str, bool]) -> tuple[TestResult, ...]:
        """Return what each test found; one that its own source lets be skipped is left out."""
        found = [self._test(name, required.get(name.split("[")[0], False)) for name in self._begun]
        return tuple(test for test in found if test is not None)

    def _test(self, name: str, skippable: bool) -> TestResult | None:
        """Return what one test found."""
        done = self._done.get(name, {})
        phases = self._phases.get(name, [])
        failed = next((line for line in phases if line.get("outcome") == "failed"), None)
        if failed is not None:
            return _failed(name, {**failed, "lines": self._places.get(name)}, done)
        if any(line.get("outcome") == "skipped" for line in phases):
            skipped = TestResult(name=name, passed=False, error="it was skipped, which its source does not say")
            return None if skippable else skipped
        called = {line.get("when"): line.get("outcome") for line in phases}
        if called != {"setup": "passed", "call": "passed", "teardown": "passed"}:
            return TestResult(name=name, passed=False, error="it did not end")
        return _with_facts(TestResult(name=name, passed=True), done)


def required_tests(files: dict[str, str]) -> dict[str, bool]:
    """Return the tests that the source of test files has, and of each whether the source lets it be skipped.

    Raises:
        SyntaxError: a file is no Python.
    """
    found: dict[str, bool] = {}
    for name, source in files.items():
        base = name.rsplit("/", 1)[-1]
        if base in ("conftest.py", "__init__.py"):
            continue
        tree = ast.parse(source, name)
        marked = any("pytestmark" in ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign))
        for inner, skippable in _tests_of(tree.body, marked):
            found[f"{name}::{inner}"] = skippable
    return found


def _tests_of(body: list[ast.stmt], skippable: bool) -> Iterator[tuple[str, bool]]:
    """Give the tests of a module or of a class."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name, skippable or _may_skip(node)
        elif isinstance(node, ast.ClassDef) and _holds_tests(node):
            for inner, inner_skippable in _tests_of(node.body, skippable or _may_skip(node)):
                yield f"{node.name}::{inner}", inner_skippable


def _holds_tests(node: ast.ClassDef) -> bool:
    """Return whether pytest looks for tests in a class."""
    if any(isinstance(one, ast.FunctionDef) and one.name == "__init__" for one in node.body):
        return False
    if any(isinstance(one, ast.Assign) and "__test__" in ast.unparse(one) for one in node.body):
        return False
    return node.name.startswith("Test") or any(ast.unparse(base).endswith("TestCase") for base in node.bases)


def _may_skip(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Return whether a test's own source speaks of leaving it out, or of its failure."""
    return any(word in ast.unparse(node) for word in ("skip", "xfail", "expectedFailure", "SkipTest"))


def _lines(unit: Unit, nonce: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the lines of a report, and whether one of them has not the secret of the run."""
    lines, forged = [], False
    for block in bytes(unit.report).split(b"\n")[:-1]:
        try:
            line = json.loads(block)
        except (ValueError, RecursionError):
            line = None
        if isinstance(line, dict) and line.get("nonce") == nonce:
            lines.append(line)
        else:
            forged = True
    return lines, forged


def _limits(seen: Observed, unit: Unit, signal: str | None) -> tuple[str, ...]:
    """Return the limits that were reached."""
    by_signal = [_BY_SIGNAL[signal]] if signal in _BY_SIGNAL else []
    return tuple(dict.fromkeys([*unit.limits, *seen.limits, *by_signal]))


def _stopped(limits: tuple[str, ...]) -> Verdict | None:
    """Return the verdict on what was ended by a limit."""
    if any(limit in _HARD for limit in limits):
        return "limit"
    return "timeout" if "wall" in limits else None


def _outcome(seen: Observed, unit: Unit, limits: tuple[str, ...]) -> Outcome:
    """Return what was seen of a unit, not judged yet."""
    return Outcome(
        verdict="error",
        limits_hit=limits,
        stdout=unit.stdout.text,
        stderr=unit.stderr.text,
        stdout_truncated=unit.stdout.truncated,
        stderr_truncated=unit.stderr.truncated,
        seconds=unit.seconds or seen.seconds,
        peak_memory_mib=round(max(seen.peak_mib, unit.memory_mib), 1),
        artifacts=tuple(seen.artifacts),
    )


def _number(value: Any) -> float:
    """Return a number of a report."""
    return round(float(value), 4) if isinstance(value, int | float) else 0.0


def _places(value: Any) -> tuple[tuple[str, int], ...]:
    """Return the files and lines that a report names."""
    if not isinstance(value, list):
        return ()
    pairs = [one for one in value[:60] if isinstance(one, list | tuple) and len(one) == 2]
    return tuple((harmless(str(name))[:200], line) for name, line in pairs if isinstance(line, int))


def _covered(value: Any) -> dict[str, tuple[int, ...]]:
    """Return the lines of each file that a report says to have run."""
    found: dict[str, list[int]] = {}
    for name, line in _all_places(value):
        found.setdefault(name, []).append(line)
    return {name: tuple(sorted(set(lines))) for name, lines in found.items()}


def _all_places(value: Any) -> Iterator[tuple[str, int]]:
    """Give every file and line of a coverage report."""
    for one in value if isinstance(value, list) else []:
        if isinstance(one, list) and len(one) == 2 and isinstance(one[1], int):
            yield harmless(str(one[0]))[:200], one[1]
