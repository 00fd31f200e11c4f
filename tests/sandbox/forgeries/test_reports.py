"""Hold that a report counts as success only if the run that it describes succeeded and was complete."""

import json
from typing import Any

import pytest

from tenure.sandbox.output import BoundedOutput
from tenure.sandbox.supervisor import Observed, UnitResult
from tenure.sandbox.verdict import judge_tests

NONCE = "secret"
REQUIRED = {"test_a.py::test_one": False, "test_a.py::test_two": False}


def report_passed(name: str) -> list[dict[str, Any]]:
    """Return the lines of a test that passed."""
    phases = [
        {"kind": "phase", "id": name, "when": when, "outcome": "passed"} for when in ("setup", "call", "teardown")
    ]
    return [{"kind": "start", "id": name}, *phases, {"kind": "done", "id": name}]


def judge(lines: list[dict[str, Any]], status: int | None) -> str:
    """Return the verdict on a report."""
    report = bytearray(b"".join(json.dumps({"nonce": NONCE, **line}).encode() + b"\n" for line in lines))
    unit = UnitResult(BoundedOutput(100), BoundedOutput(100), report, status=status)
    return judge_tests(Observed(units=[unit], finished=True), unit, REQUIRED, NONCE).verdict


ONE, TWO = report_passed("test_a.py::test_one"), report_passed("test_a.py::test_two")


def test_a_complete_report_of_success_passes() -> None:
    """Every required test, exit code 0 and an equal exit status give the verdict."""
    assert judge([*ONE, *TWO, {"kind": "end", "code": 0}], 0) == "passed"


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5, -1, 0])
def test_a_session_that_ended_early_does_not_pass(code: int) -> None:
    """A test that was never run is missed, also when the tests before it passed and the session was interrupted."""
    assert judge([*ONE, {"kind": "end", "code": code}], (code & 0xFF) << 8) != "passed"


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5])
def test_an_exit_code_of_failure_does_not_pass(code: int) -> None:
    """A session that failed in itself does not pass, although every test passed."""
    assert judge([*ONE, *TWO, {"kind": "end", "code": code}], code << 8) != "passed"


@pytest.mark.parametrize(
    "more",
    [
        [{"kind": "end", "code": 1}],
        [{"kind": "end", "code": True}],
        [{"kind": "phase", "id": "test_a.py::test_two", "when": "call", "outcome": "failed"}],
        [{"kind": "start", "id": "test_a.py::test_three"}],
        [{"kind": "tampered"}],
        [{"kind": "broken", "id": "test_b.py", "error": "ImportError"}],
    ],
)
def test_lines_that_contradict_the_success_count(more: list[dict[str, Any]]) -> None:
    """A line of failure is not outweighed by lines of success before or after it."""
    complete = [*ONE, *TWO, {"kind": "end", "code": 0}]

    assert judge([*complete, *more], 0) != "passed"
    assert judge([*more, *complete], 0) != "passed"
