"""Files a command writes."""

from pathlib import Path

import pytest

from tenure.cli.errors import CommandError, UsageError
from tenure.cli.terminal import check_writable, write_file


def test_a_file_is_replaced_atomically(tmp_path: Path) -> None:
    """The new text has the name, and no temporary file is left."""
    target = tmp_path / "report.md"
    target.write_text("old")

    write_file(target, b"new")

    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failed_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    """If the name is taken by a folder the error says so, and nothing is left behind."""
    target = tmp_path / "report.md"
    target.mkdir()

    with pytest.raises(CommandError, match="cannot be written"):
        write_file(target, b"new")
    assert list(tmp_path.iterdir()) == [target]


def test_unwritable_output_is_found_before_anything_runs(tmp_path: Path) -> None:
    """A folder that does not exist, or a folder as the file, is a usage error."""
    check_writable(None)
    check_writable(tmp_path / "report.md")

    with pytest.raises(UsageError, match="is not a folder"):
        check_writable(tmp_path / "no" / "report.md")
    with pytest.raises(UsageError, match="cannot be written"):
        check_writable(tmp_path)
