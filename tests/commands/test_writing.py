"""Answers that are coming in, seen by a person who follows the run; against a real server and the stand-in worker."""

from tests.commands.conftest import CommandLine
from tests.commands.test_stuck import said_until, terminate


def test_what_is_being_written_is_seen(running: CommandLine) -> None:
    """Whoever follows a run reads which section is being written and how many tokens there are, once per step."""
    words = "writing “Bread”: 312 tokens"
    said = said_until(running, words, "start", "scribble please", "--id", "scribbling")
    again = said_until(running, words, "watch", "scribbling")
    terminate(running, "scribbling")

    assert len([line for line in said if words in line]) == 1
    assert any(words in line for line in again)
