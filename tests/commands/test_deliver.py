"""What a finished run is handed over as."""

from argparse import Namespace

import pytest

from commands.deliver import deliver
from tenure.contracts.base import RunId
from tenure.contracts.result import Result
from tenure.contracts.run import Usage

FAILED = Result(
    id=RunId("r"),
    mode="RESEARCH",
    question="Why?",
    title="Half a report",
    abstract="",
    usage=Usage(),
    decisions=("Ended because a step failed for good: OPENAI_API_KEY is not accepted",),
    status="failed",
)


def test_a_failed_run_hands_over_what_it_has_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    """The report goes to standard output, its reason as one line to standard error, and the code is 1."""
    code = deliver(FAILED, Namespace(output=None, json=False, format=None))
    printed = capsys.readouterr()

    assert code == 1
    assert printed.err == f"error: {FAILED.decisions[0]}\n"
    assert "# Half a report" in printed.out
