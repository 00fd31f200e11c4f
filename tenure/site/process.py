"""Serve the page as a part of the local stack: `python -m tenure.site.process DESCRIPTOR`.

The descriptor is that of a listening socket, which the stack has opened. The page itself needs a hundred megabytes and
seconds of imports, so this process waits for the first visitor before it starts the page as a child; the visitor's
connection waits in the queue of the socket meanwhile. The child is asked over HTTP every two seconds. A page
that hangs is killed, and a page that has ended is started again for the next visitor.
"""

import argparse
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType

PROBE_INTERVAL_SECONDS = 2.0

PROBE_TIMEOUT_SECONDS = 3.0
"""Time for an answer; a visitor without a token is refused from memory."""

MAX_SILENCE_SECONDS = 20.0
"""Time without an answer after which the page is killed."""

MAX_START_SECONDS = 120.0
"""Time that the page may take until its first answer: its imports take long on a busy machine."""

MAX_FAILED_STARTS = 3
"""Pages in a row that end without an answer, after which none is started any more."""

STOP_SECONDS = 4.0
"""Time that the page gets to end when the stack is stopped; the stack waits for five seconds."""

Command = Callable[[int, int], Sequence[str]]
"""Command of the page for the descriptors of its socket and of the pipe that ends with this process."""


def build_command(listener: int, lifeline: int) -> Sequence[str]:
    """Return the command of the page."""
    # Without the working directory on the import path: it is the home.
    return [sys.executable, "-P", "-m", "tenure.site.process", "--lifeline", str(lifeline), str(listener)]


class PageSupervisor:
    """Parent of the page."""

    def __init__(
        self,
        listener: socket.socket,
        command: Command = build_command,
        *,
        max_silence: float = MAX_SILENCE_SECONDS,
        max_start: float = MAX_START_SECONDS,
    ) -> None:
        self._listener = listener
        self._command = command
        self._max_silence = max_silence
        self._max_start = max_start

    def run(self) -> int:
        """Serve visitors until the process is asked to stop, which raises `SystemExit`, or the page cannot start."""
        failed = 0
        while failed < MAX_FAILED_STARTS:
            select.select([self._listener], [], [])
            failed = 0 if self._run_page() else failed + 1
        print(f"error: the page ended {failed} times without an answer", file=sys.stderr, flush=True)
        return 1

    def _run_page(self) -> bool:
        """Run the page until it ends or hangs; return whether it has answered."""
        reader, writer = os.pipe()
        listener = self._listener.fileno()
        page = subprocess.Popen(self._command(listener, reader), pass_fds=[listener, reader])
        os.close(reader)
        try:
            return self._watch(page)
        finally:
            page.terminate()
            try:
                page.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                page.kill()
                page.wait()
            os.close(writer)

    def _watch(self, page: subprocess.Popen[bytes]) -> bool:
        """Ask the page until it ends or is silent for too long; return whether it has answered."""
        # Only now: this import takes as much memory as everything else in this process.
        from tenure.temporal.loopback import request_status

        timeout = min(PROBE_TIMEOUT_SECONDS, self._max_silence)
        answered, deadline = False, time.monotonic() + self._max_start
        while True:
            try:
                code = page.wait(min(PROBE_INTERVAL_SECONDS, self._max_silence / 2))
            except subprocess.TimeoutExpired:
                if request_status(self._listener.getsockname()[1], "/", timeout) is not None:
                    answered, deadline = True, time.monotonic() + self._max_silence
                elif time.monotonic() > deadline:
                    print(f"the page (process {page.pid}) hangs and is killed", file=sys.stderr, flush=True)
                    page.kill()
                    return answered
            else:
                print(f"the page (process {page.pid}) ended with code {code}", file=sys.stderr, flush=True)
                return answered


def end_with_parent(lifeline: int) -> None:
    """End this process as soon as the other end of a pipe is closed, also if its event loop hangs."""

    def wait_for_end() -> None:
        os.read(lifeline, 1)
        os._exit(1)

    threading.Thread(target=wait_for_end, daemon=True).start()


def _stop(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the supervisor of the page, or the page itself if a lifeline is given; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tenure.site.process", description="Serve the page.")
    parser.add_argument("--lifeline", type=int, help="descriptor of a pipe that is closed with the supervisor")
    parser.add_argument("descriptor", type=int, help="descriptor of the listening socket")
    arguments = parser.parse_args(argv)
    with socket.socket(fileno=arguments.descriptor) as listener:
        if arguments.lifeline is None:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, _stop)
            return PageSupervisor(listener).run()
        end_with_parent(arguments.lifeline)
        # Only now: a stack without visitors does not pay for the page.
        from tenure.site.server import serve_stack_page

        serve_stack_page(listener)
    return 0


if __name__ == "__main__":
    sys.exit(main())
