"""Judge a run from its observations, outside of the sandbox.

A report is accepted if it carries the secret of its run, names every test of the tests' own source, and agrees with the
exit status of the process. Values of cases are compared here, with expectations that never entered the sandbox.
"""

import ast
import json
import math
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from tenure.algorithms.text.printable import escape_control_characters
from tenure.contracts.sandbox import CallCase, ProofLevel, SandboxOutcome, SandboxVerdict, TestResult
from tenure.sandbox.base import CommandOutcome
from tenure.sandbox.supervisor import Observed, UnitResult, get_signal_name

_MAX_TRACE_CHARS: Final = 6000
_MAX_TRACE_LINES: Final = 60
MAX_NOTES: Final = 20
"""Maximum number of notes of one kind."""
_BY_SIGNAL: Final = {"SIGXCPU": "cpu", "SIGXFSZ": "file"}
"""Limits that the kernel reports by a signal."""
_HARD: Final = ("memory", "output", "cpu", "file", "files", "folder")
"""Limits that end a program."""
_HOST: Final = "host-memory"
"""Reserve of the host's memory, which other programs may have used as well."""
_HOST_REASON: Final = "ended because this machine was short of memory"


def judge_program(seen: Observed) -> SandboxOutcome:
    """Judge a program that was run once by its exit code."""
    if not seen.units:
        return judge_setup_failure(seen)
    unit = seen.units[0]
    signal = None if unit.status is None else get_signal_name(unit.status)
    limits = _limits(seen, unit, signal)
    code = os.WEXITSTATUS(unit.status) if unit.status is not None and os.WIFEXITED(unit.status) else None
    verdict = _judge_limits(limits) or ("passed" if code == 0 else "failed" if unit.status is not None else "error")
    reason = _HOST_REASON if _HOST in limits else ""
    return _make_outcome(seen, unit, limits).model_copy(
        update={"verdict": verdict, "proof": "exit_code", "exit_code": code, "signal": signal, "reason": reason}
    )


def describe_command(seen: Observed) -> CommandOutcome:
    """Return the observations of a command."""
    if not seen.units:
        return CommandOutcome(None, None, tuple(seen.limits), "", "", seen.seconds)
    unit = seen.units[0]
    signal = None if unit.status is None else get_signal_name(unit.status)
    return CommandOutcome(
        exit_code=os.WEXITSTATUS(unit.status) if unit.status is not None and os.WIFEXITED(unit.status) else None,
        signal=signal,
        limits_hit=_limits(seen, unit, signal),
        stdout=unit.stdout.text,
        stderr=unit.stderr.text,
        seconds=unit.seconds or seen.seconds,
        report=bytes(unit.report),
    )


def judge_setup_failure(seen: Observed) -> SandboxOutcome:
    """Judge a run that did not reach its program."""
    verdict = _judge_limits(tuple(seen.limits)) or "error"
    return SandboxOutcome(
        verdict=verdict,
        limits_hit=tuple(seen.limits),
        seconds=seen.seconds,
        reason=_HOST_REASON if _HOST in seen.limits else "the sandbox ended before the program began",
    )


def judge_cases(seen: Observed, unit: UnitResult, cases: tuple[CallCase, ...], nonce: str) -> SandboxOutcome:
    """Judge a candidate by the return values of calls."""
    lines, forged = _lines(unit, nonce)
    given = {str(line.get("id")): line for line in lines if line.get("kind") == "case"}
    tests = tuple(_case_result(case, given.get(str(number))) for number, case in enumerate(cases))
    why = "the report has not the secret of this run" if forged else ""
    return _build_outcome(seen, unit, tests, why, "values_compared_outside")


def _case_result(case: CallCase, line: dict[str, Any] | None) -> TestResult:
    """Compare the return value of a call."""
    name = escape_control_characters(f"{case.function}({', '.join(json.dumps(one) for one in case.args)})"[:300])
    if line is None:
        return TestResult(name=name, passed=False, error="the call did not end")
    if "error" in line:
        return _failed(name, line, line)
    if is_equal(line.get("value"), case.expected, case.tolerance):
        return _with_facts(TestResult(name=name, passed=True), line)
    found, wanted = (json.dumps(one)[:200] for one in (line.get("value"), case.expected))
    wrong = TestResult(name=name, passed=False, error=escape_control_characters(f"gave {found} instead of {wanted}"))
    return _with_facts(wrong, line)


def _with_facts(result: TestResult, line: dict[str, Any]) -> TestResult:
    """Add the duration and the executed lines to a result."""
    facts = {"seconds": _number(line.get("seconds")), "covered": _read_coverage(line.get("covered"))}
    return result.model_copy(update=facts)


def _failed(name: str, line: dict[str, Any], facts: dict[str, Any]) -> TestResult:
    """Return the failure message of a report."""
    error = str(line.get("error", "")).strip().split("\n")[0]
    trace = escape_control_characters(str(line.get("trace", "")))[:_MAX_TRACE_CHARS]
    result = TestResult(
        name=name,
        passed=False,
        error=escape_control_characters(error)[:500],
        trace=trace,
        lines=_read_locations(line.get("lines")),
    )
    return _with_facts(result, facts)


def is_equal(found: Any, wanted: Any, tolerance: float) -> bool:
    """Return whether two JSON values are equal; integers and floats may be equal, a boolean is not a number."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, int | float) and isinstance(wanted, int | float):
        return found == wanted or _is_close(found, wanted, tolerance)
    if isinstance(found, list) and isinstance(wanted, list | tuple):
        same = len(found) == len(wanted)
        return same and all(is_equal(one, other, tolerance) for one, other in zip(found, wanted, strict=True))
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(is_equal(found[key], wanted[key], tolerance) for key in found)
    return type(found) is type(wanted) and bool(found == wanted)


def _is_close(found: float, wanted: float, tolerance: float) -> bool:
    """Return whether two numbers are close to each other, or both NaN."""
    if found != found or wanted != wanted:
        return found != found and wanted != wanted
    try:
        return tolerance > 0 and math.isfinite(found) and abs(found - wanted) <= tolerance
    except OverflowError:  # an integer of more than 308 digits
        return False


def judge_tests(seen: Observed, unit: UnitResult, required: dict[str, bool], nonce: str) -> SandboxOutcome:
    """Judge a candidate by pytest files; `required` says for each test whether it may be skipped."""
    lines, forged = _lines(unit, nonce)
    report = _Report(lines)
    if broken := report.broken:
        outcome = _build_outcome(seen, unit, broken, "", report.proof)
        own_fault = not any(line.get("begun") for line in lines) and outcome.verdict == "failed"
        return outcome.model_copy(update={"verdict": "error", "reason": broken[0].error} if own_fault else {})
    tests = report.tests(required)
    why = ""
    if forged:
        why = "the report has not the secret of this run"
    elif tampered := next((line for line in lines if line.get("kind") == "tampered"), None):
        why = escape_control_characters(str(tampered.get("text")))[:300]
    elif not report.codes:
        why = "the tests were ended from inside"
    elif _claims_success(report, tests) and not _is_complete(report, tests, required, unit):
        why = "the report does not have every test"
    return _build_outcome(seen, unit, tests, why, report.proof).model_copy(update={"notes": report.notes})


def _claims_success(report: "_Report", tests: tuple[TestResult, ...]) -> bool:
    """Return whether a report has an exit code of success, or no failed test."""
    return 0 in report.codes or (bool(tests) and all(test.passed for test in tests))


def _is_complete(report: "_Report", tests: tuple[TestResult, ...], required: dict[str, bool], unit: UnitResult) -> bool:
    """Return whether a report of success names every test, ends once with code 0, and agrees with the exit status."""
    missing = [name for name, skippable in required.items() if not skippable and name not in report.names]
    return bool(tests) and not missing and report.codes == [0] and unit.status == 0


def _build_outcome(
    seen: Observed, unit: UnitResult, tests: tuple[TestResult, ...], forged: str, proof: ProofLevel
) -> SandboxOutcome:
    signal = None if unit.status is None else get_signal_name(unit.status)
    limits = _limits(seen, unit, signal)
    verdict: SandboxVerdict = "passed" if tests and all(test.passed for test in tests) else "failed"
    first = next((test.error for test in tests if not test.passed), "")
    if stopped := _judge_limits(limits):
        verdict, reason = stopped, _HOST_REASON if stopped == "error" else f"limit reached: {', '.join(limits)}"
    elif forged:
        verdict, reason = "forged", forged
    else:
        reason = first
    code = os.WEXITSTATUS(unit.status) if unit.status is not None and os.WIFEXITED(unit.status) else None
    return _make_outcome(seen, unit, limits).model_copy(
        update={
            **{"verdict": verdict, "reason": reason, "proof": proof, "exit_code": code, "signal": signal},
            "tests": tests,
        }
    )


class _Report:
    """Report of pytest, by test."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._phases: dict[str, list[dict[str, Any]]] = {}
        self._done: dict[str, dict[str, Any]] = {}
        self._places: dict[str, Any] = {}
        self._started: list[str] = []
        self.proof: ProofLevel = "tests_in_other_process"
        self.notes: tuple[str, ...] = ()
        self.codes: list[int] = []
        self.broken: tuple[TestResult, ...] = ()
        for line in lines:
            self._parse_line(str(line.get("kind")), str(line.get("id")), line)

    def _parse_line(self, kind: str, name: str, line: dict[str, Any]) -> None:
        if kind == "start":
            self._started.append(name)
        elif kind == "phase":
            self._phases.setdefault(name, []).append(line)
        elif kind == "done":
            self._done[name] = line
        elif kind == "lines":
            self._places[name] = line.get("lines")
        elif kind == "same_process":
            self.proof = "tests_in_same_process"
        elif kind == "note" and len(self.notes) < MAX_NOTES:
            self.notes = (*self.notes, escape_control_characters(str(line.get("text")))[:300])
        elif kind == "broken":
            self.broken = (*self.broken, _failed(name, line, {}))
        elif kind == "end":
            # A truth value is no exit code, although Python counts it as a number.
            self.codes.append(code if type(code := line.get("code")) is int else -1)

    @property
    def names(self) -> set[str]:
        """Names of the started tests, without parameters."""
        return {name.split("[")[0] for name in self._started}

    def tests(self, required: dict[str, bool]) -> tuple[TestResult, ...]:
        """Return the result of each test; tests that their own source allows to skip are left out."""
        found = [self._test(name, required.get(name.split("[")[0], False)) for name in self._started]
        return tuple(test for test in found if test is not None)

    def _test(self, name: str, skippable: bool) -> TestResult | None:
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


def find_required_tests(files: dict[str, str]) -> dict[str, bool]:
    """Return the tests in the source of test files, and for each whether the source allows to skip it.

    Raises:
        SyntaxError: a file is not valid Python.
    """
    found: dict[str, bool] = {}
    for name, source in files.items():
        base = name.rsplit("/", 1)[-1]
        if base in ("conftest.py", "__init__.py"):
            continue
        tree = ast.parse(source, name)
        marked = any("pytestmark" in ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign))
        for inner, skippable in _iterate_tests(tree.body, marked):
            found[f"{name}::{inner}"] = skippable
    return found


def _iterate_tests(body: list[ast.stmt], skippable: bool) -> Iterator[tuple[str, bool]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name, skippable or _may_skip(node)
        elif isinstance(node, ast.ClassDef) and _has_tests(node):
            for inner, inner_skippable in _iterate_tests(node.body, skippable or _may_skip(node)):
                yield f"{node.name}::{inner}", inner_skippable


def _has_tests(node: ast.ClassDef) -> bool:
    """Return whether pytest collects tests from a class."""
    if any(isinstance(one, ast.FunctionDef) and one.name == "__init__" for one in node.body):
        return False
    if any(isinstance(one, ast.Assign) and "__test__" in ast.unparse(one) for one in node.body):
        return False
    return node.name.startswith("Test") or any(ast.unparse(base).endswith("TestCase") for base in node.bases)


def _may_skip(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Return whether a test's own source mentions skipping or expected failure."""
    return any(word in ast.unparse(node) for word in ("skip", "xfail", "expectedFailure", "SkipTest"))


def _lines(unit: UnitResult, nonce: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the lines of a report, and whether a line lacks the secret of the run."""
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


def _limits(seen: Observed, unit: UnitResult, signal: str | None) -> tuple[str, ...]:
    by_signal = [_BY_SIGNAL[signal]] if signal in _BY_SIGNAL else []
    return tuple(dict.fromkeys([*unit.limits, *seen.limits, *by_signal]))


def _judge_limits(limits: tuple[str, ...]) -> SandboxVerdict | None:
    """Return the verdict for a run that was ended by a limit."""
    if any(limit in _HARD for limit in limits):
        return "limit"
    if _HOST in limits:
        return "error"
    return "timeout" if "wall" in limits else None


def _make_outcome(seen: Observed, unit: UnitResult, limits: tuple[str, ...]) -> SandboxOutcome:
    """Return the observations of a unit, not judged yet."""
    return SandboxOutcome(
        verdict="error",
        limits_hit=limits,
        stdout=unit.stdout.text,
        stderr=unit.stderr.text,
        seconds=unit.seconds or seen.seconds,
        peak_memory_mib=round(max(seen.peak_mib, unit.memory_mib), 1),
        artifacts=tuple(seen.artifacts),
    )


def _number(value: Any) -> float:
    """Return a number of a report."""
    return round(float(value), 4) if isinstance(value, int | float) else 0.0


def _read_locations(value: Any) -> tuple[tuple[str, int], ...]:
    """Return the first files and lines of a report."""
    return tuple(islice(_iterate_locations(value), _MAX_TRACE_LINES))


def _read_coverage(value: Any) -> dict[str, tuple[int, ...]]:
    """Return the executed lines of each file of a report."""
    found: dict[str, list[int]] = {}
    for name, line in _iterate_locations(value):
        found.setdefault(name, []).append(line)
    return {name: tuple(sorted(set(lines))) for name, lines in found.items()}


def _iterate_locations(value: Any) -> Iterator[tuple[str, int]]:
    """Yield the files and lines of a report."""
    for one in value if isinstance(value, list) else []:
        if isinstance(one, list) and len(one) == 2 and isinstance(one[1], int):
            yield escape_control_characters(str(one[0]))[:200], one[1]
