"""The supervisor with real processes: children that work, freeze, end or are asked to stop."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.support.ports import free_ports
from tests.support.tiers import slow

ROOT = Path(__file__).parents[3]

CHILD = """\
import http.server, os, signal, sys

def stop(number, frame):
    print("stopped in order", flush=True)
    os._exit(7)

class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(open(sys.argv[1]).read()))
        self.end_headers()
        self.wfile.write(b'{"reason": "its event loop has not run for 12 s"}')

    def log_message(self, *_):
        pass

signal.signal(signal.SIGTERM, stop)
server = http.server.HTTPServer(("127.0.0.1", int(os.environ["TENURE_HEALTH_PORT"])), Health)
print(os.getpid(), flush=True)
server.serve_forever()
"""


@contextmanager
def supervised(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run a child under the supervisor, and yield the supervisor and the child's process id."""
    (folder / "child.py").write_text(CHILD)
    (folder / "status").write_text("200")
    command = [
        sys.executable,
        "-m",
        "tenure.temporal.health.supervisor",
        "--max-silence",
        "1",
        "--max-start",
        "5",
        *options,
    ]
    child = [sys.executable, str(folder / "child.py"), str(folder / "status")]
    environment = os.environ | {"TENURE_HEALTH_PORT": str(free_ports(1)[0]), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [*command, *child], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline())
        finally:
            if process.poll() is None:
                for one in psutil.Process(process.pid).children():
                    one.kill()
                process.kill()


@pytest.mark.parametrize("how", ["suspended", "blocked"])
def test_a_frozen_child_is_killed_within_seconds(tmp_path: Path, how: str) -> None:
    """A child that is stopped by a signal, or says that its loop is stuck, is killed; the supervisor exits with 1."""
    with supervised(tmp_path) as (process, child):
        if how == "suspended":
            os.kill(child, signal.SIGSTOP)
        else:
            (tmp_path / "status").write_text("503")
        began = time.monotonic()
        _, complaint = process.communicate()

        assert process.returncode == 1
        assert time.monotonic() - began < 30
        assert not psutil.pid_exists(child)
        assert complaint.startswith(f"error: the worker (process {child}) was killed: it")


@slow
def test_a_healthy_child_is_left_alone(tmp_path: Path) -> None:
    """A child that answers lives on, also after a short silence."""
    with supervised(tmp_path, "--max-silence", "6") as (process, child):
        (tmp_path / "status").write_text("503")
        time.sleep(1)
        (tmp_path / "status").write_text("200")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(8)
        assert psutil.pid_exists(child)


@pytest.mark.parametrize("ends_itself", [False, True])
def test_a_child_that_stops_gives_the_exit_code(tmp_path: Path, ends_itself: bool) -> None:
    """A request to stop is passed on to the child, and its exit code is returned."""
    with supervised(tmp_path) as (process, child):
        os.kill(child if ends_itself else process.pid, signal.SIGTERM)
        out, _ = process.communicate()

        assert (process.returncode, out) == (7, "stopped in order\n")


def test_a_child_that_never_answers_is_killed(tmp_path: Path) -> None:
    """A child that hangs while it starts is killed after the time for a start."""
    command = [sys.executable, "-m", "tenure.temporal.health.supervisor", "--max-start", "0.5", "--max-silence", "0.5"]
    environment = os.environ | {"TENURE_HEALTH_PORT": str(free_ports(1)[0]), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, "sleep", "600"], env=environment, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "nothing listens on its health port" in done.stderr


@pytest.mark.parametrize("port", ["", "none", "0", "70000"])
def test_a_missing_port_is_an_error(port: str) -> None:
    """Without a usable port nothing is started, and one line names the variable."""
    command = [sys.executable, "-m", "tenure.temporal.health.supervisor", "true"]
    environment = os.environ | {"TENURE_HEALTH_PORT": port, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "TENURE_HEALTH_PORT" in done.stderr
