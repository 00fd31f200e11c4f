"""Test `diff` against a real server and a stub worker."""

import json
from pathlib import Path

from tests.cli.conftest import CommandLine
from tests.cli.test_commands import error_line


def test_two_runs_are_compared(running: CommandLine, tmp_path: Path) -> None:
    """The difference is Markdown, one JSON document, or a file; the worker is not asked."""
    assert running("start", "What is this?", "--id", "compared-1").returncode == 0
    assert running("start", "What is that?", "--id", "compared-2").returncode == 0
    target = tmp_path / "difference.md"
    text = running("diff", "compared-1", "compared-2")
    document = running("diff", "compared-1", "compared-2", "--json", "-o", str(target))

    assert (text.returncode, document.returncode) == (0, 0)
    assert text.stdout.startswith("# Difference between compared-1 and compared-2\n")
    assert json.loads(document.stdout)["b"]["question"] == "What is that?"
    assert target.read_text() == text.stdout


def test_a_run_without_a_report_cannot_be_compared(running: CommandLine) -> None:
    """A running, a failed and an unknown run give different errors."""
    assert running("start", "What is this?", "--id", "compared-3").returncode == 0
    assert running("start", "wait for me", "--id", "compared-4", "--detach").returncode == 0
    assert running("start", "fail please", "--id", "compared-5").returncode == 1
    waiting, failed, unknown = (running("diff", "compared-3", f"compared-{n}") for n in (4, 5, 6))
    assert running("finish", "compared-4").returncode == 0

    assert (waiting.returncode, failed.returncode, unknown.returncode) == (1, 1, 2)
    assert "is still running" in error_line(waiting.stderr)
    assert error_line(failed.stderr).endswith("failed: the stub was told to fail")
    assert "there is no run compared-6" in error_line(unknown.stderr)
