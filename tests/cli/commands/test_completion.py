"""Tests of the completion of command lines by shells."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_names_the_command(shell: str) -> None:
    """Each shell gets a script that registers the command `tenure`."""
    command = [sys.executable, "client.py", "completion", shell]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert "_ARGCOMPLETE" in done.stdout
    assert "tenure" in done.stdout


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tenure sta", {"start", "state", "status"}),
        ("tenure start --max-se", {"--max-sections", "--max-searches"}),
        ("tenure corpus gr", {"graph"}),
        ("tenure memory add --ki", {"--kind"}),
    ],
)
def test_words_are_completed(line: str, expected: set[str], tmp_path: Path) -> None:
    """Commands, options and choices are offered to the shell."""
    answer = tmp_path / "answer"
    variables = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    subprocess.run([sys.executable, "client.py"], cwd=ROOT, env=os.environ | variables, check=True)

    assert {word.strip() for word in answer.read_text(encoding="utf-8").split("\n")} == expected
