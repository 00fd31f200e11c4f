"""Test the readers of test reports, on reports as the runners write them and on forged ones."""

import json
from typing import Any

import pytest

from tenure.algorithms.coding.test_reports import (
    MAX_MESSAGE_CHARS,
    ParsedReport,
    parse_cargo_report,
    parse_go_report,
    parse_jest_report,
    parse_mocha_report,
    parse_output,
    parse_plugin_report,
    parse_tap_report,
)

SECRET = "s3cret"


def lines(*entries: dict[str, Any], secret: str = SECRET) -> bytes:
    """Return the lines of the sandbox's own plugin."""
    return b"".join(json.dumps({"nonce": secret, **entry}).encode() + b"\n" for entry in entries)


def outcomes(found: ParsedReport) -> dict[str, str]:
    """Return the outcome of each test."""
    return {test.id: test.outcome for test in found.tests}


START = [{"kind": "start", "id": "t.py::a"}, {"kind": "test", "id": "t.py::a", "path": "t.py", "outcome": "passed"}]
END = {"kind": "end", "code": 0, "collected": 1}


def test_a_report_of_the_plugin_is_read() -> None:
    """Tests with their outcomes, a test without an end, and replaced functions come out."""
    report = lines(
        *START,
        {"kind": "test", "id": "t.py::b", "outcome": "failed", "message": "x" * 9999},
        {"kind": "start", "id": "t.py::c"},
        {"kind": "end", "code": 1, "replaced": ["_pytest.runner.call"]},
    )

    found = parse_plugin_report(report, SECRET, 1)

    assert outcomes(found) == {"t.py::a": "passed", "t.py::b": "failed", "t.py::c": "error"}
    assert (found.error, len(found.tests[1].message)) == ("", MAX_MESSAGE_CHARS)
    assert found.notes == ("functions of the test framework were replaced: _pytest.runner.call",)


@pytest.mark.parametrize(
    ("report", "code", "words"),
    [
        (lines(*START, END, secret="guessed"), 0, "without the secret"),
        (lines(*START), 0, "ended before they were all run"),
        (lines(*START, END) + lines(*START), 0, "continues after its end"),
        (lines(*START, END, END), 0, "continues after its end"),
        (lines(*START, END), 1, "their process with exit code 1"),
        (lines(*START, {"kind": "end", "code": 1}), 0, "ended with 1"),
        (b"[" * 90_000 + b"\n" + lines(*START, END), 0, "without the secret"),
        (b"\xff\xfe{}\n" + lines(*START, END), 0, "without the secret"),
    ],
    ids=["secret", "exit", "after", "twice", "code", "other code", "nested", "bytes"],
)
def test_a_forged_report_is_refused(report: bytes, code: int, words: str) -> None:
    """A line without the secret, an early end, and an exit code that does not fit are named."""
    assert words in parse_plugin_report(report, SECRET, code).error


def test_a_test_reported_twice_has_its_worst_outcome() -> None:
    """A second report cannot turn a failure into a success."""
    entries = [{"kind": "test", "id": "a", "outcome": one} for one in ("passed", "failed", "passed", "skipped", "odd")]

    assert outcomes(parse_plugin_report(lines(*entries, {"kind": "end", "code": 1}), SECRET, 1)) == {"a": "failed"}


def test_names_and_messages_are_printable() -> None:
    """Control characters of a report do not reach a terminal."""
    entries = [{"kind": "test", "id": "a\x1b[2J\nb", "outcome": "failed", "message": "\x07bell"}]

    (test,) = parse_plugin_report(lines(*entries), SECRET, 1).tests

    assert (test.id, test.message) == ("a\\x1b[2J\\nb", "\\x07bell")


def test_go_reports_tests_and_packages_that_do_not_build() -> None:
    """Each test and part of a test has its outcome with its output; a package without tests that fails is an error."""
    events = [
        {"Action": "run", "Package": "m/a", "Test": "TestAdd"},
        {"Action": "output", "Package": "m/a", "Test": "TestAdd", "Output": "=== RUN   TestAdd\n"},
        {"Action": "output", "Package": "m/a", "Test": "TestAdd", "Output": "    a_test.go:9: got 1\n"},
        {"Action": "fail", "Package": "m/a", "Test": "TestAdd", "Elapsed": 0},
        {"Action": "pass", "Package": "m/a", "Test": "TestAll/one"},
        {"Action": "skip", "Package": "m/a", "Test": "TestNet"},
        {"Action": "fail", "Package": "m/a"},
        {"Action": "output", "Package": "m/b", "Output": "b.go:1: syntax error\n"},
        {"Action": "fail", "Package": "m/b"},
    ]

    found = parse_go_report("\n".join(["go: noise", *map(json.dumps, events)]))

    assert outcomes(found) == {
        **{"m/a::TestAdd": "failed", "m/a::TestAll/one": "passed", "m/a::TestNet": "skipped", "m/b": "error"},
    }
    messages = {test.id: test.message for test in found.tests}
    assert (messages["m/a::TestAdd"], messages["m/b"]) == ("a_test.go:9: got 1", "b.go:1: syntax error")


def test_the_output_of_go_has_the_names_of_its_report() -> None:
    """Tests belong to the package whose line ends them; a package that fails without a test is an error."""
    text = (
        "make: Entering directory 'm'\n=== RUN   TestAdd\n    a_test.go:9: got 1\n--- FAIL: TestAdd (0.00s)\n"
        "=== RUN   TestAll\n=== RUN   TestAll/one\n--- PASS: TestAll (0.01s)\n    --- PASS: TestAll/one (0.00s)\n"
        "=== RUN   TestNet\n--- SKIP: TestNet (0.00s)\nFAIL\nFAIL\tm/a\t0.017s\n"
        "?   \tm/none\t[no test files]\n--- PASS: TestB (0.00s)\nPASS\nok  \tm/b\t(cached)\n"
        "c.go:1: syntax error\nFAIL\tm/c [build failed]\nFAIL\n"
    )
    found = parse_output(text)

    assert outcomes(found) == {
        **{"m/a::TestAdd": "failed", "m/a::TestAll": "passed", "m/a::TestAll/one": "passed"},
        **{"m/a::TestNet": "skipped", "m/b::TestB": "passed", "m/c": "error"},
    }
    messages = {test.id: test.message for test in found.tests}
    assert (messages["m/a::TestAdd"], messages["m/c"]) == ("a_test.go:9: got 1", "c.go:1: syntax error")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"Action":"pass","Package":"a","Test":"TestX"}\n', {"a::TestX": "passed"}),
        ("TAP version 13\nnot ok 1 - adds\n", {"adds": "failed"}),
        ("test adds ... ok\n\ntest result: ok. 1 passed\n", {"adds": "passed"}),
        ("--- PASS: Test (0.1s)\ntest adds ... ok\nok 1 - adds\nok  \tall good\n", {}),
    ],
)
def test_output_is_read_if_its_runner_is_recognized(text: str, found: dict[str, str]) -> None:
    """A command such as `make test` may start any runner; lines that only resemble one are no tests."""
    assert outcomes(parse_output(text)) == found


def test_cargo_reports_tests_of_each_binary() -> None:
    """Tests of the same name in two binaries are two, and failures have their messages."""
    text = """
     Running unittests src/lib.rs (target/debug/deps/a-1)

running 2 tests
test tests::adds ... FAILED
test tests::slow ... ignored

failures:

---- tests::adds stdout ----
assertion failed: 1 == 2

     Running tests/all.rs (target/debug/deps/all-2)
test tests::adds ... ok
   Doc-tests a
test src/lib.rs - add (line 3) ... ok
"""
    found = parse_cargo_report(text)

    assert outcomes(found) == {
        "src/lib.rs::tests::adds": "failed",
        "src/lib.rs::tests::slow": "skipped",
        "tests/all.rs::tests::adds": "passed",
        "doc a::src/lib.rs - add (line 3)": "passed",
    }
    assert found.tests[0].message == "assertion failed: 1 == 2"


def test_tap_counts_the_tests_in_suites() -> None:
    """Parts of suites have the name of their suite, the suite itself is no test, and marks skip."""
    text = """TAP version 13
# Subtest: maths
    # Subtest: adds
    ok 1 - adds
      ---
      duration_ms: 1
      ...
    not ok 2 - divides
      ---
      error: "'1' == '2'"
      ...
    1..2
not ok 1 - maths
ok 2 - alone # SKIP no network
not ok 3 - later # TODO
1..3
"""
    found = parse_tap_report(text)
    assert found.tests[1].message == "\"'1' == '2'\""
    assert outcomes(found) == {
        **{"maths > adds": "passed", "maths > divides": "failed", "alone": "skipped", "later": "skipped"},
    }


def test_jest_and_mocha_reports_are_read() -> None:
    """Tests, files that do not load, and hooks that fail come out; something else is no report."""
    jest = {
        "testResults": [
            {
                "name": "/workspace/a.test.js",
                "assertionResults": [
                    {"fullName": "a adds", "status": "failed", "failureMessages": ["expected 3"]},
                    {"fullName": "a waits", "status": "pending"},
                ],
            },
            {"name": "/workspace/b.test.js", "assertionResults": [], "status": "failed", "message": "no module"},
        ]
    }
    mocha = {
        "tests": [{"fullTitle": "a adds", "err": {}}, {"fullTitle": "a later", "err": {}}],
        "pending": [{"fullTitle": "a later"}],
        "failures": [{"fullTitle": '"before each" hook', "err": {"message": "boom"}}],
    }

    assert outcomes(parse_jest_report(json.dumps(jest))) == {
        **{"a.test.js > a adds": "failed", "a.test.js > a waits": "skipped", "b.test.js": "error"},
    }
    assert outcomes(parse_mocha_report(json.dumps(mocha))) == {
        **{"a adds": "passed", "a later": "skipped", '"before each" hook': "failed"},
    }
    assert parse_jest_report("[]").error == parse_mocha_report("{" * 99_999).error == "the report is no JSON"
