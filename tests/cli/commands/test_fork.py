"""Test `fork` against a real server and a stub worker."""

import json

import pytest

from tenure.cli.parser import build_parser
from tenure.runs.errors import InvalidRequest
from tenure.runs.run_ids import make_fork_id
from tests.cli.conftest import CommandLine
from tests.cli.test_commands import error_line


def test_a_fork_is_a_run_of_its_own(running: CommandLine) -> None:
    """It takes over the state of the cycle, hears what is said to it, and its origin keeps its report."""
    assert running("start", "go through cycles", "--id", "forked-1").returncode == 0
    before = running("report", "forked-1", "--json").stdout
    told = running("fork", "forked-1", "--cycle", "2", "--feedback", " Mind the oven. ", "--id", "fork-1", "--json")
    plain = running("fork", "forked-1", "--cycle", "1", "--max-cycles", "5", "--max-calls", "9", "--json")

    assert (told.returncode, plain.returncode) == (0, 0)
    assert json.loads(told.stdout)["decisions"] == ["from forked-1, cycle 2, told Mind the oven."]
    assert json.loads(plain.stdout)["decisions"] == ["from forked-1, cycle 1, told nothing"]
    assert json.loads(plain.stdout)["id"].startswith("forked-1-after-1-")
    assert running("report", "forked-1", "--json").stdout == before


def test_a_fork_has_the_owner_of_its_origin(running: CommandLine) -> None:
    """A fork inherits owner and priority unless others are given; runs are listed by owner and status."""
    assert (
        running("start", "go through cycles", "--id", "forked-5", "--owner", "o'neil", "--priority", "2").returncode
        == 0
    )
    assert running("fork", "forked-5", "--cycle", "1", "--id", "fork-5").returncode == 0
    assert running("fork", "forked-5", "--cycle", "1", "--id", "fork-6", "--owner", "bob").returncode == 0
    owned = running("list", "--owner", "o'neil", "--json")
    table, bobs = running("list", "--owner", "o'neil", "--status", "done"), running("list", "--owner", "bob", "--json")
    none = running("list", "--owner", "o'neil", "--status", "waiting")

    assert [(row["id"], row["owner"]) for row in json.loads(owned.stdout)] == [
        ("fork-5", "o'neil"),
        ("forked-5", "o'neil"),
    ]
    assert "owner" in table.stdout and "fork-6" not in table.stdout
    assert [row["id"] for row in json.loads(bobs.stdout)] == ["fork-6"]
    assert "no run matches" in none.stderr


def test_a_missing_cycle_is_named(running: CommandLine) -> None:
    """A cycle not reached, another workflow, an unknown run and a used id are errors of one line."""
    assert running("start", "go through cycles", "--id", "forked-2").returncode == 0
    assert running("start", "What is this?", "--id", "forked-3").returncode == 0
    late, none, unknown = (running("fork", name, "--cycle", "3") for name in ("forked-2", "forked-3", "forked-4"))
    absent = running("fork", "forked-2", "--feedback", "deeper")
    child = running("fork", "forked-2/research", "--cycle", "1")
    used = running("fork", "forked-2", "--cycle", "1", "--id", "forked-2")
    long = running("fork", "forked-2", "--cycle", "1", "--feedback", "x" * 4_001)

    assert {done.returncode for done in (late, none, unknown, absent, child, used, long)} == {2}
    assert error_line(late.stderr).endswith("no cycle 3 to continue from: it has completed cycle 1 to 2")
    assert error_line(none.stderr).endswith("it has completed none, and coding runs have none")
    assert "there is no run forked-4" in error_line(unknown.stderr)
    assert "--cycle: the last cycle to take over is missing: give one" in error_line(absent.stderr)
    assert "is not a run but a ResearchWorkflow" in error_line(child.stderr)
    assert "--id: forked-2 is in use" in error_line(used.stderr)
    assert "--feedback: String should have at most 4000 characters" in error_line(long.stderr)


def test_a_fork_has_a_place_to_continue_from() -> None:
    """It is a cycle, or an answer of one attempt in a repository; an id that is too long for a run is refused."""
    given = build_parser().parse_args("fork run --answer 3 --attempt 2".split())

    assert (given.cycle, given.answer, given.attempt) == (None, 3, 2)
    with pytest.raises(InvalidRequest):
        make_fork_id("x" * 195, 2)
