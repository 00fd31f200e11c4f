"""Test that the continuous integration runs the commands of the README."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci" / "run"


def test_ci_runs_the_test_command_of_the_readme() -> None:
    """The test command of the README is the one that .ci/run runs, with its own options."""
    blocks = re.findall(
        r"^```\w*\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    lines = [line.strip() for block in blocks for line in block.splitlines() if "pytest" in line]
    command = lines[0].split(" && ")[-1]

    assert f"\n{command} --slow ||" in SCRIPT.read_text(encoding="utf-8")


TESTS = [f"tests/test_a.py::test_{number}" for number in range(6)]
# A stub of uv: pytest ends with the first code and leaves the failed tests; its repetition ends with the second.
UV = """#!/bin/sh
case "$*" in
    *--last-failed*) echo "again"; exit {second} ;;
    *pytest*)
        mkdir -p .pytest_cache/v/cache
        printf '{failed}' >.pytest_cache/v/cache/lastfailed
        exit {first} ;;
esac
"""


@pytest.mark.parametrize(
    ("first", "failed", "second", "again", "code"),
    [
        (0, [], 0, False, 0),
        (1, TESTS[:2], 0, True, 0),
        (1, TESTS[:2], 1, True, 1),
        (1, TESTS, 0, False, 1),  # too many for a coincidence
        (1, ["gw3"], 0, False, 1),  # the processes collected different tests
        (2, TESTS[:1], 0, False, 1),  # interrupted
    ],
)
def test_a_few_failed_tests_run_once_more(
    tmp_path: Path, first: int, failed: list[str], second: int, again: bool, code: int
) -> None:
    """A change lands if its few failed tests pass one at a time, and never after a crash or many failures."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci" / "run")
    listed = "".join(f'"{name}": true,\\n' for name in failed)
    programs = {"uv": UV.format(first=first, second=second, failed=listed), "chromium": "#!/bin/sh\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)

    ended = subprocess.run(
        ["bash", tmp_path / ".ci" / "run"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == code
    assert ("again" in ended.stdout.splitlines()) is again


def test_ci_script_is_executable_bash() -> None:
    """The script parses and may be run as it is."""
    assert SCRIPT.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", SCRIPT], check=False).returncode == 0


def test_nothing_is_deselected_by_default() -> None:
    """Plain pytest runs every test there is."""
    options = re.search(r"^addopts = (.+)$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)

    assert options is not None
    assert not re.search(r'"-m"|"-k"|--ignore|--deselect', options.group(1))
