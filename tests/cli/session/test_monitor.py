"""Test what commands see of a running workflow, against a real server and the stub worker."""

from tests.cli.conftest import CommandLine
from tests.cli.session.test_diagnostics import said_until, terminate


def test_embedding_in_the_background_is_shown(running: CommandLine) -> None:
    """The display names the chunks that wait for the embedding workflow which a run has started."""
    words = "embedding in the background: 3,800 chunks left, found by words only"
    said = said_until(running, words, "start", "wait and embed", "--id", "embedding")
    again = said_until(running, words, "watch", "embedding")
    terminate(running, "embedding")

    assert len([line for line in said if words in line]) == 1
    assert any(words in line for line in again)
