"""Tests of opening files without following symbolic links."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tenure.files.opening import FileRefused, open_file, open_folder
from tests.support.tiers import slow


def test_a_file_is_read_from_its_descriptor(tmp_path: Path) -> None:
    """After the opening, another file under the same name changes nothing."""
    (tmp_path / "a.md").write_text("own", encoding="utf-8")
    (tmp_path / "b.md").write_text("another", encoding="utf-8")

    with open_file(tmp_path / "a.md") as opened:
        (tmp_path / "b.md").replace(tmp_path / "a.md")
        assert (opened.read(10), opened.read(2), opened.status.st_size) == (b"own", b"ow", 3)
        assert opened.pinned_path.read_bytes() == b"own"


@pytest.mark.parametrize("path", ["link.md", "folder/a.md", "folder/../real/a.md"])
def test_no_component_may_be_a_link(tmp_path: Path, path: str) -> None:
    """A link as the file, as one of its folders, or hidden behind two dots is refused."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("x", encoding="utf-8")
    (tmp_path / "link.md").symlink_to("real/a.md")
    (tmp_path / "folder").symlink_to("real")

    with pytest.raises(FileRefused, match=r"symbolic link|`\.\.`"), open_file(tmp_path / path):
        pass


def test_a_relative_path_is_refused() -> None:
    """It would depend on the working folder of the process."""
    with pytest.raises(FileRefused, match="not absolute"), open_file(Path("a.md")):
        pass


def test_a_pipe_and_a_folder_are_refused_at_once(tmp_path: Path) -> None:
    """Nothing blocks, and nothing that is no regular file is opened."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(FileRefused, match="not a regular file"), open_file(tmp_path / "pipe"):
        pass
    with pytest.raises(FileRefused, match="is a folder"), open_file(tmp_path):
        pass


def test_descriptors_are_closed(tmp_path: Path) -> None:
    """Neither success nor refusal leaves a descriptor open."""
    (tmp_path / "a.md").write_text("x", encoding="utf-8")
    (tmp_path / "link").symlink_to("a.md")
    before = psutil.Process().num_fds()
    for _ in range(3):
        with open_file(tmp_path / "a.md"), open_folder(tmp_path):
            pass
        with pytest.raises(FileRefused), open_file(tmp_path / "link"):
            pass
        with pytest.raises(FileNotFoundError), open_file(tmp_path / "none" / "a.md"):
            pass

    assert psutil.Process().num_fds() == before


EXCHANGE = """
import sys
from pathlib import Path

at, link, aside, target = map(Path, sys.argv[1:])
while True:
    link.symlink_to(target)
    at.rename(aside)
    link.rename(at)
    at.unlink()
    aside.rename(at)
"""
"""Program that exchanges a file or folder with a link until it is killed."""


@slow
@pytest.mark.parametrize("exchanged", ["file", "folder"])
def test_an_exchange_between_check_and_opening_reads_nothing_foreign(tmp_path: Path, exchanged: str) -> None:
    """While another process exchanges a file or folder with a link, only own content or a refusal is seen."""
    for name, text in {"docs/sub/a.md": "own", "outside/a.md": "foreign"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    at = tmp_path / "docs" / ("sub/a.md" if exchanged == "file" else "sub")
    target = tmp_path / "outside" / ("a.md" if exchanged == "file" else "")
    # Another process, not a thread: threads of one interpreter can fall into step, so that only one state is ever seen.
    command = [sys.executable, "-c", EXCHANGE, at, tmp_path / "link", tmp_path / "aside", target]
    process = subprocess.Popen([str(part) for part in command])
    seen: set[bytes] = set()
    tries = 0
    try:
        while (tries < 4_000 or seen < {b"own", b""}) and process.poll() is None:
            tries += 1
            try:
                with open_file(tmp_path / "docs" / "sub" / "a.md") as opened:
                    seen.add(opened.read(100))
            except (FileRefused, FileNotFoundError):
                seen.add(b"")
    finally:
        process.kill()
        process.wait()

    assert seen == {b"own", b""}
