"""Read reports of tests that runners of many languages write; nothing in a report is trusted.

Everything is bounded. The process of the tests writes or influences each report, so that a report shows which tests
failed, and the exit code and the secret of the run show whether it can be right at all.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tenure.algorithms.text.printable import escape_control_characters
from tenure.contracts.coding.repositories import ProjectTest, TestOutcome

MAX_TESTS: Final = 100_000
"""Number of tests that are read; the largest suites of public projects have about 80,000."""
MAX_ID_CHARS: Final = 500
MAX_MESSAGE_CHARS: Final = 500

_RANK: Final[dict[TestOutcome, int]] = {"passed": 1, "skipped": 0, "failed": 2, "error": 3}
"""A test that is reported twice has its worst outcome."""


@dataclass(frozen=True)
class ParsedReport:
    """Tests of a report."""

    tests: tuple[ProjectTest, ...] = ()
    error: str = ""
    """Reason for which the report cannot be right or complete; empty if it can."""
    notes: tuple[str, ...] = ()


def make_test(name: object, outcome: TestOutcome, message: object = "", path: object = "") -> ProjectTest:
    """Return a test with bounded and printable texts."""
    return ProjectTest(
        id=escape_control_characters(str(name)).replace("\n", "\\n")[:MAX_ID_CHARS],
        path=escape_control_characters(str(path))[:MAX_ID_CHARS],
        outcome=outcome,
        message=escape_control_characters(str(message)).strip()[:MAX_MESSAGE_CHARS],
    )


def merge_tests(tests: Iterable[ProjectTest]) -> tuple[ProjectTest, ...]:
    """Return tests without duplicates, each with its worst outcome, at most `MAX_TESTS`."""
    merged: dict[str, ProjectTest] = {}
    for test in tests:
        earlier = merged.get(test.id)
        if earlier is None and len(merged) >= MAX_TESTS:
            break
        if earlier is None or _RANK[test.outcome] > _RANK[earlier.outcome]:
            merged[test.id] = test
    return tuple(merged.values())


def parse_plugin_report(report: bytes, secret: str, exit_code: int | None) -> ParsedReport:
    """Read the report of the sandbox's own plugins for pytest and unittest.

    A line without the secret of the run, a second end, and an exit code that the end does not name show a report that
    something else has written.
    """
    tests: list[ProjectTest] = []
    started: set[str] = set()
    ends: list[object] = []
    notes: list[str] = []
    error = ""
    for block in report.split(b"\n")[:-1]:
        line = _parse_object(block)
        if line.get("nonce") != secret:
            error = "a report without the secret of this run: something else wrote it"
            continue
        kind, name = line.get("kind"), str(line.get("id", ""))
        if ends:
            error = "the report continues after its end: something else wrote it"
        if kind == "start":
            started.add(name)
        elif kind == "test" and line.get("outcome") in _RANK:
            started.discard(name)
            tests.append(make_test(name, line["outcome"], line.get("message", ""), line.get("path", "")))
        elif kind == "end":
            ends.append(line.get("code"))
            if replaced := [str(one) for one in line.get("replaced", []) if isinstance(one, str)]:
                listed = escape_control_characters(", ".join(replaced))[:300]
                notes.append(f"functions of the test framework were replaced: {listed}")
    tests += [make_test(name, "error", "it did not end") for name in sorted(started)]
    if not error and not ends and report:
        error = "the tests ended before they were all run"
    elif not error and ends and exit_code is not None and ends != [exit_code]:
        error = f"the tests ended with {ends[0]}, and their process with exit code {exit_code}"
    return ParsedReport(merge_tests(tests), error, tuple(notes))


def parse_go_report(text: str) -> ParsedReport:
    """Read the lines of `go test -json`."""
    tests: list[ProjectTest] = []
    output: dict[str, str] = {}
    failed_packages: dict[str, str] = {}
    outcomes: Mapping[str, TestOutcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    for block in text.splitlines():
        line = _parse_object(block)
        package, name, action = str(line.get("Package", "")), str(line.get("Test", "")), str(line.get("Action", ""))
        key = f"{package}::{name}" if name else package
        if action == "output" and len(output) < MAX_TESTS:
            output[key] = (output.get(key, "") + str(line.get("Output", "")))[-4 * MAX_MESSAGE_CHARS :]
        elif action in outcomes and name:
            tests.append(make_test(key, outcomes[action], _keep_failure(output.pop(key, ""), action), package))
        elif action == "fail" and package:
            failed_packages[package] = output.get(package, "")
    broken = failed_packages.keys() - {test.path for test in tests if test.outcome == "failed"}
    tests += [make_test(name, "error", failed_packages[name][-MAX_MESSAGE_CHARS:], name) for name in sorted(broken)]
    return ParsedReport(merge_tests(tests))


# `--- PASS: TestAdd (0.00s)`, `    --- FAIL: TestAdd/two (0.01s)`
_GO_TEST: Final = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+) \(\d+\.\d+s\)$", re.MULTILINE)
# `ok  \tmod/a\t0.002s`, `ok  \tmod/a\t(cached)`, `FAIL\tmod/a\t0.017s`, `FAIL\tmod/a [build failed]`
_GO_PACKAGE: Final = re.compile(r"^(ok  |FAIL)\t(\S+)(?:\t(?:\d+\.\d+s|\(cached\))| \[)", re.MULTILINE)


def parse_go_output(text: str) -> ParsedReport:
    """Read the output of `go test -v`; tests have the names that `parse_go_report` gives them."""
    tests: list[ProjectTest] = []
    outcomes: Mapping[str, TestOutcome] = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
    start = 0
    for package in _GO_PACKAGE.finditer(text):
        before = len(tests)
        name, shown = package[2], start
        for match in _GO_TEST.finditer(text, start, package.start()):
            # Behind "=== RUN   TestAdd", "=== NAME  TestAdd" or "=== CONT  TestAdd"
            output = text[shown : match.start()].rpartition("=== ")[2].partition("\n")[2]
            message = _keep_failure(output, match[1].lower())
            tests.append(make_test(f"{name}::{match[2]}", outcomes[match[1]], message, name))
            shown = match.end()
        if package[1] == "FAIL" and not any(test.outcome == "failed" for test in tests[before:]):
            tests.append(make_test(name, "error", text[start : package.start()].strip()[-MAX_MESSAGE_CHARS:], name))
        start = package.end()
    return ParsedReport(merge_tests(tests))


def _keep_failure(output: str, action: str) -> str:
    lines = [line for line in output.splitlines() if not line.startswith(("=== ", "--- "))]
    return "\n".join(lines)[-MAX_MESSAGE_CHARS:] if action == "fail" else ""


# `test tests::adds ... ok`, `test src/lib.rs - add (line 3) ... FAILED`, `test slow ... ignored`
_CARGO_TEST: Final = re.compile(r"^test (.+?) \.\.\. (ok|FAILED|ignored)", re.MULTILINE)
# `     Running unittests src/lib.rs (target/debug/deps/…)`, `   Doc-tests name`
_CARGO_BINARY: Final = re.compile(r"^\s+(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))", re.MULTILINE)
# `---- tests::adds stdout ----` up to the next empty line
_CARGO_FAILURE: Final = re.compile(r"^---- (.+?) stdout ----\n(.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


def parse_cargo_report(text: str) -> ParsedReport:
    """Read the output of `cargo test`."""
    outcomes: Mapping[str, TestOutcome] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
    messages = {match[1]: match[2] for match in _CARGO_FAILURE.finditer(text)}
    binaries = [(match.start(), match[1] or f"doc {match[2]}") for match in _CARGO_BINARY.finditer(text)]
    tests = []
    for match in _CARGO_TEST.finditer(text):
        binary = next((name for start, name in reversed(binaries) if start < match.start()), "")
        name, outcome = match[1], outcomes[match[2]]
        message = messages.get(name, "") if outcome == "failed" else ""
        tests.append(make_test(f"{binary}::{name}" if binary else name, outcome, message, binary))
    return ParsedReport(merge_tests(tests))


# `ok 1 - adds`, `not ok 2 adds # TODO later`, `    ok 1 - inner # SKIP no network`
_TAP_TEST: Final = re.compile(r"^(\s*)(not )?ok\b\s*\d*\s*(?:- )?(.*?)(?:\s+#\s*(skip|todo)\b.*)?$", re.IGNORECASE)
# `# Subtest: adds`
_TAP_SUITE: Final = re.compile(r"^(\s*)# Subtest: (.*)$")
# `  error: "'1:5' == '1:05'"`
_TAP_ERROR: Final = re.compile(r"^\s+error: (.+)$")
# Columns by which the tests of a suite are indented, as `node --test --test-reporter=tap` prints them
_TAP_INDENT: Final = 4


def parse_tap_report(text: str) -> ParsedReport:
    """Read a report of the Test Anything Protocol; suites count by their tests."""
    tests: list[ProjectTest] = []
    suites: dict[int, str] = {}
    inner_depth = -1
    for line in text.splitlines():
        if tests and tests[-1].outcome == "failed" and not tests[-1].message and (error := _TAP_ERROR.match(line)):
            tests[-1] = tests[-1].model_copy(update={"message": make_test("", "failed", error[1]).message})
            continue
        if suite := _TAP_SUITE.match(line):
            suites[len(suite[1]) // _TAP_INDENT] = suite[2]
        elif match := _TAP_TEST.match(line):
            depth = len(match[1]) // _TAP_INDENT
            is_suite = inner_depth > depth
            inner_depth = depth
            if is_suite:
                continue
            names = [suites.get(level, "") for level in range(depth)]
            outcome: TestOutcome = "skipped" if match[4] else "failed" if match[2] else "passed"
            tests.append(make_test(" > ".join(name for name in [*names, match[3]] if name), outcome))
    return ParsedReport(merge_tests(tests))


def parse_jest_report(text: str) -> ParsedReport:
    """Read the JSON report of Jest or Vitest."""
    report = _parse_object(text)
    outcomes: Mapping[str, TestOutcome] = {"passed": "passed", "failed": "failed"}
    tests = []
    for file in _iterate_objects(report.get("testResults")):
        path = str(file.get("name", "")).removeprefix("/workspace/")
        results = list(_iterate_objects(file.get("assertionResults")))
        for result in results:
            outcome = outcomes.get(str(result.get("status")), "skipped")
            messages = result.get("failureMessages")
            message = "\n".join(map(str, messages)) if isinstance(messages, list) else ""
            tests.append(make_test(f"{path} > {result.get('fullName', '')}", outcome, message, path))
        if not results and file.get("status") == "failed":
            tests.append(make_test(path, "error", file.get("message", ""), path))
    return ParsedReport(merge_tests(tests), "" if report else "the report is no JSON")


def parse_mocha_report(text: str) -> ParsedReport:
    """Read the JSON report of Mocha."""
    report = _parse_object(text)
    pending = {str(test.get("fullTitle")) for test in _iterate_objects(report.get("pending"))}
    tests = []
    for test in _iterate_objects(report.get("tests")):
        name, error = str(test.get("fullTitle", "")), test.get("err")
        outcome: TestOutcome = "failed" if error else "skipped" if name in pending else "passed"
        path = str(test.get("file", "")).removeprefix("/workspace/")
        message = error.get("message", "") if isinstance(error, dict) else ""
        tests.append(make_test(name, outcome, message, path))
    # A hook that fails is in this list only.
    for test in _iterate_objects(report.get("failures")):
        error = test.get("err")
        message = error.get("message", "") if isinstance(error, dict) else ""
        tests.append(make_test(test.get("fullTitle", ""), "failed", message))
    return ParsedReport(merge_tests(tests), "" if report else "the report is no JSON")


def parse_output(text: str) -> ParsedReport:
    """Read the output of a command that may have started the tests of Go or Cargo, or any that write TAP."""
    parsers = {
        '"Action":"': parse_go_report,
        "--- ": parse_go_output,
        "test result: ": parse_cargo_report,
        "TAP version": parse_tap_report,
    }
    reports = [parse(text) for sign, parse in parsers.items() if sign in text]
    return ParsedReport(merge_tests(test for report in reports for test in report.tests))


def _parse_object(text: str | bytes) -> dict[str, Any]:
    """Return a JSON object, or an empty one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _iterate_objects(value: object) -> Iterator[dict[str, Any]]:
    yield from (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()
