"""Test which run a word means that is no id."""

import pytest

from tenure.cli.run_choice import pick_run
from tenure.runs.errors import InvalidRequest, MissingRun
from tests.cli.conftest import CommandLine, running

__all__ = ["running"]

IDS = ["research-tides-2b", "research-tides-1a", "code-median-3c"]


def test_a_unique_beginning_and_the_word_last_mean_a_run() -> None:
    """The latest run is the first of the list."""
    assert [pick_run(word, IDS) for word in ("code", "research-tides-1", "last")] == [IDS[2], IDS[1], IDS[0]]


def test_an_ambiguous_beginning_is_refused_with_the_candidates() -> None:
    """Nothing is done to a run that is not meant."""
    with pytest.raises(InvalidRequest, match="several runs begin with research: research-tides-1a, research-tides-2b"):
        pick_run("research", IDS)


@pytest.mark.parametrize(
    ("word", "ids", "advice"), [("code-medain-3c", IDS, "did you mean code-median-3c"), ("last", [], "list")]
)
def test_an_unknown_id_gets_advice(word: str, ids: list[str], advice: str) -> None:
    """The nearest id is named, or else the command that lists all."""
    with pytest.raises(MissingRun, match=advice):
        pick_run(word, ids)


def test_commands_take_shortened_ids(running: CommandLine) -> None:
    """The command runs again with the whole id, which it prints on standard error."""
    running("start", "wait for me", "--id", "shortened-run", "--detach")
    state = running("state", "shortened-r")
    cancelled = running("cancel", "shortened-r", "--json")
    report = running("watch", "shortened-r", "--json")

    assert state.stdout.startswith("shortened-run: wait for me")
    assert "run shortened-run\n" in state.stderr
    assert '"id": "shortened-run"' in cancelled.stdout
    assert '"id": "shortened-run"' in report.stdout
