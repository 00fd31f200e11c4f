"""Tests of the requests of the sandbox."""

import pytest
from pydantic import ValidationError

from tenure.contracts.sandbox import InputFile, SandboxLimits, SandboxOutcome, TestResult, TestRun


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../up.py", "a/../../b", "two\nlines", "x" * 401])
def test_names_outside_the_working_folder_are_rejected(name: str) -> None:
    """A path that leaves the working folder, or an invalid name, is rejected."""
    with pytest.raises(ValidationError):
        InputFile(name=name, text="")


def test_names_are_normalised() -> None:
    """Redundant dots and slashes are removed from a name."""
    assert InputFile(name="./a//b.py", text="").name == "a/b.py"


@pytest.mark.parametrize("content", [{}, {"text": "1", "path": "a.py"}])
def test_a_file_has_exactly_one_content(content: dict[str, str]) -> None:
    """A file without content, or with two, is rejected."""
    with pytest.raises(ValidationError, match="either a text or a path"):
        InputFile.model_validate({"name": "a.py", **content})


def test_a_test_run_is_a_batch_of_one() -> None:
    """The batch of a test run has its files as the only candidate and equal options."""
    trial = TestRun(
        files=(InputFile(name="a.py", text=""),),
        tests=(InputFile(name="test_a.py", text=""),),
        limits=SandboxLimits(wall_seconds=3),
        trace=True,
    )

    batch = trial.batch

    assert batch.candidates == (trial.files,)
    assert (batch.tests, batch.limits, batch.trace) == (trial.tests, trial.limits, True)


def test_an_outcome_counts_passed_tests() -> None:
    """Passed tests are counted, failed ones are not."""
    tests = (TestResult(name="a", passed=True), TestResult(name="b", passed=False))

    assert SandboxOutcome(verdict="failed", tests=tests).tests_passed == 1
