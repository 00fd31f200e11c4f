"""Tests of the process around the handlers of commands."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import structlog
from argparse import Namespace
from tenure.cli import main
from tenure.cli.commands import runs

def log():
    structlog.get_logger().warning("a damaged cache is replaced")
    structlog.get_logger().info("new runs use this version")
    print("{}")

runs.log = log
main._run(Namespace(handler="tenure.cli.commands.runs:log", command="list", starts=False, verbosity="normal"))
"""


def test_log_lines_stay_out_of_the_result_of_a_command() -> None:
    """Standard output has the result only; warnings are on standard error, and lower levels nowhere."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "{}\n"
    assert "a damaged cache is replaced" in done.stderr and "new runs" not in done.stderr
