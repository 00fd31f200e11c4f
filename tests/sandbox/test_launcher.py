"""Test how sandboxes are started, and which paths an unprivileged user can reach."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.sandbox.launcher import UNPRIVILEGED_ID, Launcher, is_reachable


def test_a_closed_folder_closes_what_is_below_it(tmp_path: Path) -> None:
    """A path is reachable where everybody may enter every folder above it and read what it names."""
    shut = tmp_path / "shut"
    inner = shut / "inner"
    inner.mkdir(parents=True)
    shut.chmod(0o700)

    assert not is_reachable(inner)
    assert is_reachable(Path("/usr/bin"))
    assert is_reachable(tmp_path / "nothing")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives its powers up")
def test_root_starts_processes_without_privileges(tmp_path: Path) -> None:
    """A process started by root is unprivileged, has an empty environment, and reaches closed folders elsewhere."""
    shut = tmp_path / "shut"
    shut.mkdir()
    (shut / "shown.txt").write_text("shown")
    shut.chmod(0o755)
    tmp_path.chmod(0o700)
    launcher = Launcher([shut])
    place = launcher.map_path(shut / "shown.txt")

    process = launcher.start(["/bin/sh", "-c", f"id -u; cat {place}; echo; env | grep -c KEY"], [], {})
    out, _ = process.communicate()

    assert out.decode().split() == [str(UNPRIVILEGED_ID), "shown", "0"]
    assert place != shut / "shown.txt"
    assert not place.exists(), "the second place is in no other process's view"


def test_an_ordinary_start_keeps_only_what_it_is_given(tmp_path: Path) -> None:
    """A process inherits the descriptors it is given and none that happens to be open."""
    given, other = os.open(tmp_path, os.O_RDONLY), os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(other, True)
    try:
        process = Launcher([]).start(["/bin/ls", "/proc/self/fd"], [given], {})
        out, _ = process.communicate()
    finally:
        os.close(given)
        os.close(other)

    assert str(given) in out.decode().split()
    assert str(other) not in out.decode().split()


def test_the_driver_refuses_to_run_outside() -> None:
    """The driver, which ends by killing everything that it sees, does nothing unless it is process 1."""
    driver = Path(__file__).parents[2] / "tenure" / "sandbox" / "inside" / "driver.py"

    done = subprocess.run([sys.executable, "-I", driver], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (1, "")
    assert "only runs as process 1" in done.stderr
