"""Results of commands as a model reads them: end, output, and the failures of a long output."""

import pytest

from tenure.repositories.observations import bound_text, show_command
from tenure.sandbox.base import CommandOutcome


def test_an_outcome_does_not_repeat_its_command() -> None:
    """The end of the command comes first, then both outputs."""
    outcome = CommandOutcome(1, None, (), "a\n", "b\n", 0.24)

    assert show_command(outcome) == "(exit code 1, 0.2 s)\na\nstderr:\nb"


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [
        ("E       assert 1 == 2", True),
        ("FAILED tests/test_a.py::test_b - ValueError", True),
        ("_____________ test_b _____________", True),
        ("tests/test_a.py:12: AssertionError", True),
        ("src/a.c:3:1: error: expected ;", True),
        ("--- FAIL: TestA (0.00s)", True),
        ("not ok 3 - parses", True),
        ("src/a.py:12:    raise ValueError", False),
        ("tests/test_a.py::test_c PASSED", False),
    ],
)
def test_a_long_output_keeps_its_failures(line: str, is_kept: bool) -> None:
    """Lines of the middle that report a failure stay, with the beginning, the end and the number of characters."""
    text = f"first\n{'.' * 70}\n" + "passed\n" * 400 + f"{line}\n" + "passed\n" * 400 + "1 failed"
    bounded = bound_text(text, 1_200)

    assert len(bounded) <= 1_200 and bounded.startswith("first\n") and bounded.endswith("1 failed")
    assert (f"\n{line}\n" in bounded) is is_kept
    assert "characters left out" in bounded


def test_failures_have_a_bound() -> None:
    """A thousand failures leave room for the beginning and the end."""
    bounded = bound_text("begin\n" + "FAILED a\n" * 10_000 + "end", 3_000)

    assert len(bounded) <= 3_000 and bounded.endswith("\nend")
