"""Test the arguments and the output of `memory`, in real processes against a stub worker."""

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from tenure.cli.parser import build_parser
from tenure.runs.errors import InvalidRequest
from tenure.runs.messages import ForgetBody, MemoryFilter, RememberBody
from tests.cli.conftest import CommandLine
from tests.runs.command_lines import parse

FACT = ["--subject", "Zenne", "--relation", "flows through", "--object", "Halle"]


@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        (ForgetBody, ["forget"], "name the memories to forget"),
        (ForgetBody, ["forget", "--owner", "ann"], "name the memories to forget"),
        (RememberBody, ["add", "x" * 4_001], "text: String should have at most 4000 characters"),
        (RememberBody, ["edit", "m1", "x" * 4_001], "at most 4000 characters"),
        (RememberBody, ["add", "one", "--subject", "Zenne", "--object", "Halle"], "relation missing"),
        (RememberBody, ["add", "one", *FACT, "--kind", "preference"], "a fact is of the kind semantic, not preference"),
        (RememberBody, ["add", "one", *FACT[:5], "x" * 401], "object: String should have at most 400 characters"),
    ],
)
def test_what_is_no_memory_is_refused(kind: type[BaseModel], arguments: list[str], words: str) -> None:
    """A value that does not fit is named, and memories are not forgotten without a choice."""
    with pytest.raises(InvalidRequest, match=words):
        parse(kind, "memory", *arguments)


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (ForgetBody, ["forget", "--kind", "episodic"]),
        (ForgetBody, ["forget", "--all"]),
        (MemoryFilter, ["search", "Ghent"]),
        (RememberBody, ["add", "The Zenne flows through Halle.", *FACT]),
        (RememberBody, ["add", "We use metric units", "--kind", "preference"]),
        (RememberBody, ["edit", "m1", "We use metric units"]),
    ],
)
def test_what_fits_an_action_is_accepted(kind: type[BaseModel], arguments: list[str]) -> None:
    """Each action takes its own."""
    assert parse(kind, "memory", *arguments).model_fields_set


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add", " "], "error: TEXT: must not be empty"),
        (["add", "one", "--kind", "preferense"], "did you mean preference?"),
    ],
)
def test_malformed_arguments_are_refused(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty text is refused, and an unknown kind is answered with the kinds."""
    with pytest.raises(SystemExit):
        build_parser().parse_args(["memory", *arguments])

    printed = capsys.readouterr().err
    assert words in printed
    assert "preference" in printed or "empty" in printed


def test_memories_are_written_and_edited(running: CommandLine) -> None:
    """A new memory and an edited one are printed with kind and id, or whole as JSON; refusals say what to do."""
    added = running("memory", "add", "We use metric units", "--kind", "preference")
    fact = json.loads(running("memory", "add", "One.", *FACT, "--owner", "ann", "--json").stdout)
    edited = running("memory", "edit", "m1", "We use SI units")
    known = running("memory", "add", "Ghent lies on the [Scheldt].", "--owner", "ann")
    unknown = running("memory", "edit", "m9", "We use SI units", "--owner", "ann")

    assert (added.returncode, added.stderr.strip()) == (0, "remembered as preference: m1")
    assert fact["details"] == {"type": "fact", "subject": "Zenne", "predicate": "flows through", "object": "Halle"}
    assert (fact["owner"], fact["text"]) == ("ann", "One.")
    assert (edited.returncode, edited.stderr.strip()) == (0, "changed as long_term: m1")
    assert (known.returncode, "`python client.py memory forget m1 --owner ann`" in known.stderr) == (2, True)
    assert (unknown.returncode, "`python client.py memory list --owner ann` shows them" in unknown.stderr) == (2, True)
