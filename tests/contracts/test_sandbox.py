"""What may be put into the sandbox."""

import pytest
from pydantic import ValidationError

from tenure.contracts.sandbox import GivenFile, Outcome, SandboxLimits, TestResult, Trial


@pytest.mark.parametrize("name", ["", "/etc/passwd", "../up.py", "a/../../b", "two\nlines", "x" * 401])
def test_a_name_stays_inside_the_working_folder(name: str) -> None:
    """A name that leads out of the working folder, or is no name, is refused."""
    with pytest.raises(ValidationError):
        GivenFile(name=name, text="")


def test_a_name_is_written_in_one_way() -> None:
    """Needless dots and slashes are taken out of a name."""
    assert GivenFile(name="./a//b.py", text="").name == "a/b.py"


@pytest.mark.parametrize("content", [{}, {"text": "1", "path": "a.py"}])
def test_a_file_has_one_content(content: dict[str, str]) -> None:
    """A file with no content, or with two, is refused."""
    with pytest.raises(ValidationError, match="either a text or a path"):
        GivenFile.model_validate({"name": "a.py", **content})


def test_a_trial_is_a_batch_of_one() -> None:
    """The batch of a trial has its files as the one candidate, and everything else as it is."""
    trial = Trial(
        files=(GivenFile(name="a.py", text=""),),
        tests=(GivenFile(name="test_a.py", text=""),),
        limits=SandboxLimits(wall_seconds=3),
        trace=True,
    )

    batch = trial.batch

    assert batch.candidates == (trial.files,)
    assert (batch.tests, batch.limits, batch.trace) == (trial.tests, trial.limits, True)


def test_an_outcome_counts_what_held() -> None:
    """Passed tests are counted, failed ones are not."""
    tests = (TestResult(name="a", passed=True), TestResult(name="b", passed=False))

    assert Outcome(verdict="failed", tests=tests).tests_passed == 1
