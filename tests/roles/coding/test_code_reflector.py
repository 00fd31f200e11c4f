"""The code reflector's twin: failures sorted by what they say."""

import pytest

from tenure.contracts.result.programs import Attempt, Failure
from tenure.roles.base import Evidence
from tenure.roles.coding.code_reflector import CodeReflectorInput, offline


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("ImportError: cannot import name 'f'", "is not there"),
        ("RecursionError: maximum recursion depth exceeded", "base case"),
        ("it ran out of time", "does not end"),
        ("assert 1 == 2", "not the expected one"),
        ("it went beyond its limits (memory)", "not known"),
    ],
)
def test_the_kind_of_a_failure_tells_its_cause(error: str, cause: str) -> None:
    """Each kind of error has words of its own, and what has none is said to be unknown."""
    attempt = Attempt(n=1, generation=1, passed=2, total=3, failures=(Failure(test="test_f", error=error),))
    seen = offline(CodeReflectorInput(question="Write f", attempt=attempt), Evidence())

    assert cause in seen.cause
    assert seen.failed == f"1 of 3 tests failed: test_f. {error}"


def test_a_failure_without_a_test_is_that_of_the_run() -> None:
    """Also an attempt without any failure can be looked at."""
    seen = offline(CodeReflectorInput(question="Write f", attempt=Attempt(n=1, generation=1)), Evidence())

    assert seen.failed == "0 of 0 tests failed: the run. "
