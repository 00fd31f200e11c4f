"""Files are replaced whole, with their permissions."""

from pathlib import Path

import pytest

from tenure.files.replacing import replace_file


def test_a_file_keeps_its_permissions(tmp_path: Path) -> None:
    """The new content has the permissions of the former; that of a private file only its user reads."""
    path = tmp_path / "program.sh"
    path.write_text("old")
    path.chmod(0o754)
    replace_file(path, b"new")
    replace_file(tmp_path / "secret", b"key", private=True)

    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o754
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_a_failure_leaves_no_draft(tmp_path: Path) -> None:
    """A target that cannot be replaced stays, and no draft is left."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        replace_file(tmp_path / "folder", b"new")

    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
