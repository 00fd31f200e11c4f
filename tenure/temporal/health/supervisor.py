"""Start a worker and end it if it freezes: `python -m tenure.temporal.health.supervisor python worker.py …`.

A process that is suspended, or whose event loop is blocked, cannot end itself. The supervisor asks the health port of
its child every two seconds. A child without a healthy answer for too long is killed, and the supervisor exits with code
1, so that the restart policy of the container starts a new one. Requests to stop are passed on to the child, and the
exit code of a child that ends without being killed is returned.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType

from tenure.temporal.health.probe import LIVE_PATH, probe_worker

PROBE_INTERVAL_SECONDS = 2.0

MAX_SILENCE_SECONDS = 15.0
"""Time without a healthy answer after which the child is killed."""

MAX_START_SECONDS = 300.0
"""Time that the child may take until its first answer: a first start converts a model."""

_PORT_VARIABLE = "TENURE_HEALTH_PORT"


@dataclass
class _Deadline:
    """Time by which the child has to give a healthy answer."""

    max_silence: float
    at: float

    def check(self, port: int) -> str:
        """Ask the child; return the reason for killing it, or an empty string."""
        result = probe_worker("127.0.0.1", port, LIVE_PATH)
        if result.healthy:
            self.at = time.monotonic() + self.max_silence
        return result.reason if time.monotonic() > self.at else ""


def run_supervised(command: Sequence[str], port: int, max_silence: float, max_start: float) -> int:
    """Run a command until it ends, or kill it if its health port has no healthy answer; return the exit code."""
    child = subprocess.Popen(command)

    def pass_on(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)
    deadline = _Deadline(max_silence, time.monotonic() + max_start)
    while True:
        try:
            code = child.wait(min(PROBE_INTERVAL_SECONDS, max_silence / 2))
        except subprocess.TimeoutExpired:
            if reason := deadline.check(port):
                child.kill()
                child.wait()
                print(f"error: the worker (process {child.pid}) was killed: {reason}", file=sys.stderr, flush=True)
                return 1
        else:
            return code if code >= 0 else 128 - code


def main(argv: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tenure.temporal.health.supervisor", description="Run a worker.")
    parser.add_argument("--max-silence", type=float, default=MAX_SILENCE_SECONDS, metavar="SECONDS")
    parser.add_argument("--max-start", type=float, default=MAX_START_SECONDS, metavar="SECONDS")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="command line of the worker")
    arguments = parser.parse_args(argv)
    port = os.environ.get(_PORT_VARIABLE, "")
    if not port.isdecimal() or not 0 < int(port) <= 65535:
        print(f"error: set {_PORT_VARIABLE} to the port on which the worker answers", file=sys.stderr)
        return 2
    if not arguments.command:
        parser.error("the command line of the worker is missing")
    return run_supervised(arguments.command, int(port), arguments.max_silence, arguments.max_start)


if __name__ == "__main__":
    sys.exit(main())
