"""Test the arguments and the output of `memory`, in real processes against a stub worker."""

import json
from pathlib import Path

import pytest

from tenure.cli.commands.memory import _check_arguments
from tenure.cli.errors import UsageError
from tenure.cli.parser import build_parser
from tests.cli.conftest import CommandLine


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["search"], "wants one text"),
        (["search", "one", "two"], "wants one text"),
        (["list", "m1"], "takes no 'm1'"),
        (["export", "m1"], "takes no 'm1'"),
        (["list", "--run", "r"], "belong to `memory forget`"),
        (["export", "--limit", "3"], "--limit belongs to"),
        (["list", "-o", "file"], "-o belongs to"),
        (["forget"], "name the memories to forget"),
        (["forget", "--owner", "ann"], "name the memories to forget"),
    ],
)
def test_what_does_not_fit_an_action_is_refused(arguments: list[str], words: str) -> None:
    """An option of another action, and an action without what it needs, is named."""
    with pytest.raises(UsageError, match=words):
        _check_arguments(build_parser().parse_args(["memory", *arguments]))


@pytest.mark.parametrize("arguments", [["forget", "--kind", "episodic"], ["forget", "--all"], ["search", "Ghent"]])
def test_what_fits_an_action_is_accepted(arguments: list[str]) -> None:
    """Each action takes its own."""
    _check_arguments(build_parser().parse_args(["memory", *arguments]))


def test_memories_are_listed_searched_forgotten_and_exported(running: CommandLine, tmp_path: Path) -> None:
    """Each action prints what there is of the owner, as a table and as JSON, over as many pages as it takes."""
    listed = running("memory", "list", "--owner", "ann").stdout
    found = running("memory", "search", "Where is Ghent?", "--owner", "ann").stdout
    as_json = json.loads(running("memory", "list", "--owner", "ann", "--json").stdout)
    file = tmp_path / "memories.jsonl"
    written = running("memory", "export", "--owner", "ann", "-o", str(file))

    assert "Ghent lies on the [Scheldt]. (waits for a second source)" in listed and "(disputed)" in listed
    assert "0.50" in found
    assert ([one["id"] for one in as_json["memories"]], as_json["total"]) == (["m1", "m2"], 2)
    assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == ["m1", "m2"]
    assert "2 memories written" in written.stderr


def test_missing_memories_are_reported(running: CommandLine) -> None:
    """An unknown owner has no memories, an unknown id is an error, and forgotten memories are counted."""
    assert "0 memories in all" in running("memory", "list").stderr
    assert "no memory matches" in running("memory", "search", "Ghent").stderr
    unknown = running("memory", "forget", "m9", "--owner", "ann")
    assert (unknown.returncode, "has no such memory" in unknown.stderr) == (2, True)
    assert json.loads(running("memory", "forget", "m1", "--json").stdout) == {"forgotten": 1}
    assert json.loads(running("memory", "export", "--json", "--owner", "bob").stdout) == []
