"""Test that the continuous integration runs the commands of the README."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".ci" / "run"


def test_ci_runs_the_test_command_of_the_readme() -> None:
    """The test command of the README is the one that .ci/run runs, with its own options."""
    blocks = re.findall(
        r"^```\w*\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    lines = [line.strip() for block in blocks for line in block.splitlines() if "pytest" in line]
    command = lines[0].split(" && ")[-1]

    assert f"\n{command} --slow || failed=1\n" in SCRIPT.read_text(encoding="utf-8")


def test_ci_script_is_executable_bash() -> None:
    """The script parses and may be run as it is."""
    assert SCRIPT.stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", SCRIPT], check=False).returncode == 0


def test_nothing_is_deselected_by_default() -> None:
    """Plain pytest runs every test there is."""
    options = re.search(r"^addopts = (.+)$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)

    assert options is not None
    assert not re.search(r'"-m"|"-k"|--ignore|--deselect', options.group(1))
