"""Test the command that prints the logs of the local stack."""

import signal
from pathlib import Path

from tests.cli.conftest import CommandLine, no_stack, running

__all__ = ["running"]


def test_the_end_of_a_log_is_printed(running: CommandLine) -> None:
    """The path is on standard error, and the last lines are on standard output."""
    log = running.settings.home / "logs" / "worker.log"
    with log.open("a") as file:
        file.write("one\n\x1b[31mtwo\x1b[0m\n\n")
    done = running("logs", "worker", "-n", "2")

    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "two")
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr.endswith("/logs/worker.log\n")


def test_a_log_is_followed_until_ctrl_c(running: CommandLine) -> None:
    """New lines are printed when they are written."""
    log = running.settings.home / "logs" / "worker.log"
    with log.open("a") as file:
        file.write("the last line\n")
    with running.popen("logs", "--follow", "-n", "1") as following:
        assert following.stdout is not None and following.stderr is not None
        assert following.stderr.readline().endswith("/logs/worker.log\n")
        assert following.stdout.readline() == "the last line\n"
        with log.open("a") as file:
            file.write("a new line\n")
        assert "a new line\n" in iter(following.stdout.readline, "")
        following.send_signal(signal.SIGINT)
        following.communicate()

    assert following.returncode == 130


def test_without_a_stack_the_command_that_starts_it_is_named(tmp_path: Path) -> None:
    """A home without logs has no stack yet."""
    done = no_stack(tmp_path / "home")("logs", "page")

    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no log of the page" in done.stderr and "up` starts the local stack" in done.stderr
