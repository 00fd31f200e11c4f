"""Homes that other users cannot read, secrets, and the correction of existing homes."""

import os
import socket
import tempfile
from pathlib import Path

import pytest

from tenure.private_files import ForeignHome, make_private, open_private, read_or_create_secret
from tests.support.other_user import OTHER_USER, needs_root, run_as_other_user


def mode(path: Path) -> int:
    """Return the permissions of a path, not of what it links to."""
    return path.lstat().st_mode & 0o777


def make_open_home(home: Path) -> Path:
    """Make a home that everybody may read."""
    (home / "logs").mkdir(parents=True)
    (home / "knowledge" / "table").mkdir(parents=True)
    for name in ("temporal.db", "stack.key", "logs/worker.log", "knowledge/table/data.lance"):
        (home / name).write_text("secret")
    for path in (home, *home.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    return home


def test_a_new_home_is_private(tmp_path: Path) -> None:
    """A home is created with no permission for other users, whatever the process's mask is."""
    before = os.umask(0)
    try:
        assert make_private(tmp_path / "a" / "home") == 0
        with open(tmp_path / "a" / "home" / "log", "ab", opener=open_private):
            pass
        read_or_create_secret(tmp_path / "a" / "home" / "key")
    finally:
        os.umask(before)
    assert mode(tmp_path / "a" / "home") == 0o700
    assert {mode(path) for path in (tmp_path / "a" / "home").iterdir()} == {0o600}


def test_an_open_home_is_corrected_to_its_depth(tmp_path: Path) -> None:
    """Folders become 0700 and files 0600, at every depth, and the second time nothing is left to do."""
    home = make_open_home(tmp_path / "home")
    assert make_private(home) == 8
    assert {mode(path) for path in (home, *home.rglob("*")) if path.is_dir()} == {0o700}
    assert {mode(path) for path in home.rglob("*") if path.is_file()} == {0o600}
    assert make_private(home) == 0


def test_files_at_the_top_of_a_private_home_are_corrected(tmp_path: Path) -> None:
    """Secrets at the top of a home are for their owner alone, even if other users cannot enter the home."""
    home = make_open_home(tmp_path / "home")
    home.chmod(0o700)
    assert make_private(home) == 0
    assert mode(home / "stack.key") == 0o600


def test_links_in_a_home_are_not_followed(tmp_path: Path) -> None:
    """Targets of symbolic links keep their permissions; so do pipes, and nothing waits for them."""
    home = make_open_home(tmp_path / "home")
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    outside.chmod(0o755)
    (outside / "file").write_text("")
    (outside / "file").chmod(0o644)
    (home / "link").symlink_to(outside / "file")
    (home / "logs" / "folder").symlink_to(outside)
    (home / "loop").symlink_to(home)
    os.mkfifo(home / "pipe", 0o644)
    with socket.socket(socket.AF_UNIX) as own:
        own.bind(str(home / "sock"))
    make_private(home)
    assert (mode(outside), mode(outside / "file")) == (0o755, 0o644)
    assert mode(home / "temporal.db") == 0o600


def test_packages_of_sandboxed_programs_stay_readable(tmp_path: Path) -> None:
    """The sandbox runs as another user if the worker is root; its packages hold no data."""
    home = make_open_home(tmp_path / "home")
    (home / "sandbox").mkdir(mode=0o755)
    (home / "sandbox").chmod(0o755)
    make_private(home)
    assert mode(home / "sandbox") == 0o755


def test_a_secret_is_never_read_through_a_link(tmp_path: Path) -> None:
    """A link in the place of a secret is refused: its target could be known to others."""
    (tmp_path / "known").write_text("ab" * 32)
    (tmp_path / "key").symlink_to(tmp_path / "known")
    with pytest.raises(OSError, match="symbolic link"):
        read_or_create_secret(tmp_path / "key")


def test_a_log_is_never_written_through_a_link(tmp_path: Path) -> None:
    """A link in the place of a log does not lead the log into another file."""
    (tmp_path / "log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        open(tmp_path / "log", "ab", opener=open_private)  # noqa: SIM115
    assert not (tmp_path / "elsewhere").exists()


@needs_root
def test_a_home_of_another_user_is_refused(tmp_path: Path) -> None:
    """A folder that another user prepared is no home: that user could read and change its files."""
    os.chown(tmp_path, OTHER_USER, OTHER_USER)
    with pytest.raises(ForeignHome, match="belongs to another user"):
        make_private(tmp_path)


@needs_root
def test_another_user_cannot_read_a_corrected_home() -> None:
    """Before the correction another user reads the database, afterwards not even the names of files."""
    code = """
for path in (sys.argv[1], sys.argv[1] + "/temporal.db", sys.argv[1] + "/logs/worker.log"):
    print(os.access(path, os.R_OK), end=" ")
"""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        home = make_open_home(Path(folder) / "home")
        assert run_as_other_user("import os, sys", code, str(home)) == "True True True "
        make_private(home)
        assert run_as_other_user("import os, sys", code, str(home)) == "False False False "
