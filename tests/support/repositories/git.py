"""A small real repository with a fault that one of its tests shows."""

import os
import subprocess
from pathlib import Path

FILES = {
    "clock/__init__.py": "",
    "clock/durations.py": (
        '"""Durations in words."""\n\n\n'
        "def parse_minutes(text):\n"
        '    """Return the minutes of a text such as `1:30`."""\n'
        '    hours, _, minutes = text.partition(":")\n'
        "    return int(hours) * 60 + int(minutes)\n\n\n"
        "def format_minutes(minutes):\n"
        '    """Return minutes as a text such as `1:30`."""\n'
        '    return f"{minutes // 60}:{minutes % 60}"\n'
    ),
    "tests/test_durations.py": (
        "from clock.durations import format_minutes, parse_minutes\n\n\n"
        "def test_parse():\n"
        '    assert parse_minutes("1:30") == 90\n\n\n'
        "def test_format():\n"
        '    assert format_minutes(90) == "1:30"\n'
    ),
    "README.md": "# Clock\n\nDurations in words.\n",
}
"""Files of the commit: `format_minutes(65)` is `1:5` in place of `1:05`."""


def run_git(folder: Path, *words: str) -> str:
    """Run Git with an invented author, and return its output."""
    environment = {
        **{"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
        **{"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"},
        **{"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"},
    }
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, env=environment)
    assert not done.returncode, done.stderr
    return done.stdout


def make_repository(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Make a repository with one commit."""
    for name, text in (FILES if files is None else files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    run_git(folder, "init", "--quiet", "--initial-branch", "main")
    run_git(folder, "add", "--all")
    run_git(folder, "commit", "--quiet", "--message", "A clock")
    return folder
