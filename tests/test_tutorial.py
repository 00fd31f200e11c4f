"""Run every command of the tutorial, in order and in a shell, and compare what it prints."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, no_stack
from tests.support.homes import Home
from tests.support.ports import free_ports
from tests.support.tiers import slow
from tests.support.waiting import block_until

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TUTORIAL, re.MULTILINE | re.DOTALL)
STEPS = [(commands, printed) for (_, commands), (_, printed) in zip(BLOCKS[::2], BLOCKS[1::2], strict=True)]
"""Commands, and what they print."""

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
    assert [kind for kind, _ in BLOCKS] == ["sh", "text"] * len(STEPS)
    assert len(STEPS) >= 8


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
    block_until("the plan", lambda: home.json("state", run)["progress"], lambda progress: progress["input_request"])


@slow
def test_commands_print_what_the_tutorial_shows(checkout: Home) -> None:
    """Each command succeeds and prints the lines below it."""
    for commands, printed in STEPS:
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
