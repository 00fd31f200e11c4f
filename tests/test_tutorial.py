"""Run every command of the tutorial, in order and in a shell, and compare what it prints."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ROOT, no_stack
from tests.model_server import ModelServer
from tests.support.homes import Home
from tests.support.ports import free_ports
from tests.support.tiers import slow
from tests.support.waiting import block_until

PAGES = {
    name: re.findall(
        r"^```(\w+)\n(.*?)^```", (ROOT / "docs" / name).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    for name in ("tutorial.md", "repository-tutorial.md")
}
"""Blocks of each tutorial with their kinds."""
STEPS = {
    name: [(commands, printed) for (_, commands), (_, printed) in zip(blocks[::2], blocks[1::2], strict=True)]
    for name, blocks in PAGES.items()
}
"""Commands of each tutorial, and what they print."""

ANSWERS = (
    "I look at it.\n\nREAD durations.py\nREAD test_durations.py",
    """Minutes below ten have no leading zero.

PLAN format_minutes (durations.py:3) does not pad the minutes; pad them to two digits.
EDIT durations.py
<<<<<<< SEARCH
{minutes % 60}"
=======
{minutes % 60:02}"
>>>>>>> REPLACE
EDIT test_durations.py
<<<<<<< SEARCH
    assert format_minutes(90) == "1:30"
=======
    assert format_minutes(90) == "1:30"


def test_format_pads_minutes():
    assert format_minutes(65) == "1:05"
>>>>>>> REPLACE
RUN python -m pytest -q
DONE
CAUSE: durations.py:3 formats minutes below ten with one digit.
CHANGE: Minutes have two digits, and a test shows it.
MESSAGE: durations: pad minutes to two digits
""",
)
"""Answers of the model of the tutorial on repositories."""

UV = """\
#!/bin/sh
# Of `uv run client.py …`, this machine's interpreter runs the program.
shift
exec {python} "$@"
"""


def build_pattern(printed: str) -> str:
    """Return the pattern of an output, in which `…` stands for any text, also of several lines."""
    return r"\s*" + r".*?".join(re.escape(part.strip("\n ")) + r"\s*" for part in printed.split("…")) + r"\Z"


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Home]:
    """A folder with the client and the manual, and a home of its own whose stack serves a page."""
    settings = no_stack(tmp_path / ".tenure").settings.model_copy(update={"site_port": free_ports(1)[0]})
    (tmp_path / "client.py").symlink_to(ROOT / "client.py")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "uv").write_text(UV.format(python=sys.executable))
    (tmp_path / "bin" / "uv").chmod(0o755)
    home = Home(settings, {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"})
    yield home
    home.run("down")


def test_every_command_has_an_output() -> None:
    """Blocks of commands and of what they print alternate."""
    for name, blocks in PAGES.items():
        assert [kind for kind, _ in blocks] == ["sh", "text"] * len(STEPS[name])
    assert [len(steps) for steps in STEPS.values()] == [len(STEPS["tutorial.md"]), 5] and len(STEPS["tutorial.md"]) >= 8


@pytest.mark.parametrize(
    ("printed", "output", "matches"),
    [
        ("a …\n…\nb\n", "a 1\nx\ny\nb\n", True),
        ("a …\n", "b 1\n", False),
        ("a\n", "a\nand more\n", False),
        ("…\nend\n", "x\nend\nmore\n", False),
    ],
)
def test_pattern_of_an_output(printed: str, output: str, matches: bool) -> None:
    """Only the marked words may differ."""
    assert bool(re.match(build_pattern(printed), output, re.DOTALL)) is matches


def wait_for_plan(home: Home, run: str) -> None:
    """Wait until a run shows its plan, as its reader does; the test's time limit ends the wait."""
    block_until(
        "the plan",
        lambda: home.json("state", run)["progress"],
        lambda progress: progress["input_request"],
        ignored=AssertionError,  # of a worker that is busy for longer than a query waits
    )


@slow
def test_commands_print_what_the_tutorial_shows(checkout: Home) -> None:
    """Each command succeeds and prints the lines below it."""
    run_steps(checkout, "tutorial.md")


@slow
def test_a_first_fix_in_a_repository_is_as_the_tutorial_shows(checkout: Home) -> None:
    """With a model that answers as a good one would, each command prints the lines below it."""
    with ModelServer() as model:
        model.on("repository_engineer", answer)
        environment = {**checkout.variables, **model.environment}
        home = Home(checkout.settings, environment)
        run_steps(home, "repository-tutorial.md")


def answer(request: dict[str, Any]) -> str:
    """Return the answer that follows the ones of a conversation."""
    return ANSWERS[sum(message["role"] == "assistant" for message in request["messages"])]


def run_steps(checkout: Home, page: str) -> None:
    """Run the commands of a tutorial, and compare their output."""
    for commands, printed in STEPS[page]:
        if "approve steering" in commands:
            wait_for_plan(checkout, "steering")
        done = subprocess.run(
            ["bash", "-ec", commands],
            cwd=checkout.settings.home.parent,
            env=checkout.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

        assert done.returncode == 0, f"{commands}{done.stdout}"
        assert re.match(build_pattern(printed), done.stdout, re.DOTALL), f"{commands}{done.stdout}"
