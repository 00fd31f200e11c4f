"""Tests of the code reflector's fallback, which classifies failures."""

import pytest

from tenure.contracts.result.programs import Attempt, AttemptFailure
from tenure.roles.base import Evidence
from tenure.roles.coding.code_reflector import CodeReflectorInput, fallback


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("ImportError: cannot import name 'f'", "is not there"),
        ("RecursionError: maximum recursion depth exceeded", "base case"),
        ("it exceeded its time limit", "does not end"),
        ("assert 1 == 2", "not the expected one"),
        ("it exceeded its limits (memory)", "not known"),
    ],
)
def test_each_kind_of_failure_has_a_cause(error: str, cause: str) -> None:
    """Each kind of error has its own text, and other errors are reported as unknown."""
    attempt = Attempt(n=1, generation=1, passed=2, total=3, failures=(AttemptFailure(test="test_f", error=error),))
    seen = fallback(CodeReflectorInput(question="Write f", attempt=attempt), Evidence())

    assert cause in seen.cause
    assert seen.failed == f"1 of 3 tests failed: test_f. {error}"


def test_an_attempt_without_failures() -> None:
    """An attempt without failures gives a reflection on the run."""
    seen = fallback(CodeReflectorInput(question="Write f", attempt=Attempt(n=1, generation=1)), Evidence())

    assert seen.failed == "0 of 0 tests failed: the run. "
