"""Test files of a knowledge base that are written once."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tenure.knowledge.store import stored_files
from tenure.knowledge.store.errors import StoreUnreachable
from tenure.knowledge.store.stored_files import StoredFiles

_KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from tenure.knowledge.store.stored_files import StoredFiles

Path.replace = lambda path, target: os.kill(os.getpid(), signal.SIGKILL)
StoredFiles(sys.argv[1]).write("run/turn.json", b"later")
"""


def test_a_written_file_is_read_by_its_name(uri: str) -> None:
    """The last content is returned, and None for a name without a file."""
    files = StoredFiles(uri)
    files.write("run/turn.json", b"first")
    files.write("run/turn.json", b"second")

    assert StoredFiles(uri).read("run/turn.json") == b"second"
    assert files.read("run/another.json") is None
    assert [path.name for path in Path(uri, "run").iterdir()] == ["turn.json"]


def test_a_file_is_flushed_before_it_counts_as_written(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The complete file is at its place when the file system is flushed."""
    flushed: list[bytes] = []
    monkeypatch.setattr(
        stored_files, "flush_folder", lambda folder: flushed.append((folder / "run" / "turn.json").read_bytes())
    )
    StoredFiles(uri).write("run/turn.json", b"content")

    assert flushed == [b"content"]


def test_a_killed_writer_leaves_the_former_content(uri: str) -> None:
    """A process that dies while it replaces a file damages nothing, and the next write succeeds."""
    files = StoredFiles(uri)
    files.write("run/turn.json", b"former")
    killed = subprocess.run([sys.executable, "-c", _KILLED_WRITER, uri], cwd=Path(__file__).parents[3], check=False)

    assert killed.returncode == -signal.SIGKILL
    assert files.read("run/turn.json") == b"former"
    files.write("run/turn.json", b"later")
    assert files.read("run/turn.json") == b"later"


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """The error names the location, so that the activity is repeated with a reason."""
    (tmp_path / "knowledge").write_text("a file")

    with pytest.raises(StoreUnreachable, match="knowledge"):
        StoredFiles(str(tmp_path / "knowledge")).write("run/turn.json", b"a")


def test_the_files_of_a_folder_are_listed(uri: str) -> None:
    """Complete files have names; the rest of a killed writer and a missing folder have none."""
    files = StoredFiles(uri)
    files.write("run/a.json", b"a")
    Path(uri, "run", "b.json-0.tmp").write_bytes(b"b")

    assert files.list_names("run") == {"a.json"}
    assert files.list_names("other") == frozenset()
