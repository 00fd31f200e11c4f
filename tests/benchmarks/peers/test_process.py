"""Test the processes of the comparison."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from benchmarks.peers.process import Measured, find_processes, kill_all, run_process
from tests.support.tiers import slow

SPAWN = (
    "import pathlib, subprocess, sys, time;"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', sys.argv[1]], start_new_session=True);"
    "pathlib.Path(sys.argv[1], 'ready').touch();"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder of the state of a system."""
    state = tmp_path / "state"
    state.mkdir()
    return state


def run(
    folder: Path, code: str, timeout: float = 60, watch: Callable[[Callable[[], bool]], bool] | None = None
) -> Measured:
    return run_process([sys.executable, "-c", code, str(folder)], {**os.environ}, folder, timeout, watch)


def test_a_detached_child_belongs_to_its_folder(folder: Path) -> None:
    """A process in a session of its own is found by the folder in its command line, and killed."""
    measured = run(folder, SPAWN)

    assert measured.exit_code == 0
    assert len(find_processes(folder)) == 1
    kill_all(folder)
    assert [one for one in find_processes(folder) if one.status() != psutil.STATUS_ZOMBIE] == []


def test_a_time_limit_kills_everything(folder: Path) -> None:
    """A process that hangs ends with its children, without an exit code."""
    measured = run(folder, f"{SPAWN} time.sleep(600)", timeout=1)

    assert measured.exit_code is None
    assert [one for one in find_processes(folder) if one.status() != psutil.STATUS_ZOMBIE] == []


def test_a_watcher_may_kill(folder: Path) -> None:
    """A process is killed when its watcher wants it."""

    def wait(is_running: Callable[[], bool]) -> bool:
        while is_running():
            if (folder / "ready").exists():
                return True
        return False

    assert run(folder, f"{SPAWN} time.sleep(600)", watch=wait).exit_code is None
    assert run(folder, "print('the end')", watch=lambda is_running: False).tail.endswith("the end\n")


@slow
def test_memory_and_processor_time_are_those_of_all_processes(folder: Path) -> None:
    """Memory of a child counts, and so does its processor time."""
    script = folder / "child.py"
    script.write_text(
        "import time\nheld = b'x' * 200_000_000\nend = time.process_time() + 1\nwhile time.process_time() < end: pass\n"
    )
    code = f"import subprocess, sys; subprocess.run([sys.executable, {str(script)!r}], check=True)"

    measured = run(folder, code)

    assert measured.exit_code == 0, measured.tail
    assert measured.peak_megabytes >= 200
    assert measured.cpu_seconds > 0.3


@slow
def test_processor_time_of_an_earlier_question_is_not_counted(folder: Path) -> None:
    """A server that continues to run counts with what it uses for the present question only."""
    script = folder / "server.py"
    script.write_text(
        "import pathlib, time\nend = time.process_time() + 1\nwhile time.process_time() < end: pass\n"
        "pathlib.Path('ready').touch()\ntime.sleep(600)\n"
    )
    start = f"import os, subprocess, sys, time; subprocess.Popen([sys.executable, {str(script)!r}])"

    first = run(folder, f"{start}\nwhile not os.path.exists('ready'): time.sleep(0.01)\ntime.sleep(1)")
    second = run(folder, "import time; time.sleep(1)")

    assert first.cpu_seconds > 0.9 > second.cpu_seconds
