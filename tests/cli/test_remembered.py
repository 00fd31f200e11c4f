"""Test that the file of a run's report outlives the command that has named it."""

from dataclasses import replace
from pathlib import Path

from tenure.cli.delivery import Delivery
from tenure.cli.remembered import FOLDER, forget_output, recall_output, remember_output
from tests.cli.conftest import CommandLine, running

__all__ = ["running"]


def test_a_file_is_recalled_until_it_is_written(tmp_path: Path) -> None:
    """Format, citations and proofs come with the file; a delivery that names its own file or form is left alone."""
    named = Delivery(output=tmp_path / "r.txt", format="html", citations="author-year", proofs="none")
    remember_output(tmp_path, "a/b", named)
    plain = Delivery(verbosity="quiet")

    assert recall_output(tmp_path, "a/b", plain) == replace(named, verbosity="quiet")
    for own in (Delivery(json=True), Delivery(format="csl"), Delivery(output=tmp_path / "other.md")):
        assert recall_output(tmp_path, "a/b", own) == own
    forget_output(tmp_path, "a/b")
    assert recall_output(tmp_path, "a/b", plain) == plain
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_watch_writes_the_file_of_a_detached_start(running: CommandLine, tmp_path: Path) -> None:
    """The report goes where `start -o` has said, and nothing is printed."""
    file = tmp_path / "later.md"
    running("start", "wait for me", "--id", "remembered", "--detach", "-o", str(file))
    running("finish", "remembered")
    watched = running("watch", "remembered")

    assert watched.stdout == ""
    assert file.read_text(encoding="utf-8").startswith("# A stub report")
    assert f"report written to {file}" in watched.stderr
    assert running("watch", "remembered").stdout.startswith("# A stub report")
