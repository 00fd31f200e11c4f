"""Test that commits of the knowledge base survive a loss of power, and that an interrupted commit is removed."""

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tenure.knowledge.store import store
from tenure.knowledge.store.errors import CorruptTable
from tenure.knowledge.store.flushing import flush_folder, remove_interrupted_versions
from tenure.knowledge.store.schema import TURNS, TURNS_SCHEMA
from tenure.knowledge.store.store import Store


def row(number: int) -> pa.Table:
    """Return one row of the table."""
    values = {"run": "a", "role": "b", "turn": number, "starts_conversation": True, "messages": "[]"}
    return pa.Table.from_pylist([{"key": str(number), **values}], schema=TURNS_SCHEMA)


def manifests(base: Store) -> list[Path]:
    """Return the manifests of the table, the newest last."""
    assert base.folder is not None
    found = (base.folder / f"{TURNS}.lance" / "_versions").glob("*.manifest")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def test_every_commit_is_flushed_before_it_counts_as_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An insertion and a deletion return only after their files have been flushed."""
    base = Store(str(tmp_path / "knowledge"))
    flushed: list[int] = []
    monkeypatch.setattr(store, "flush_folder", lambda folder: flushed.append(len(manifests(base))))
    for number in (1, 2):
        base.upsert(TURNS, row(number), "key")
        assert flushed[-1] == len(manifests(base))
    base.delete_rows(TURNS, "true")
    assert flushed[-1] == len(manifests(base))
    assert len(flushed) >= 4  # the creation of the table as well


def test_a_commit_that_a_loss_of_power_cut_off_does_not_hide_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty manifest is removed with a line in the log: finished commits are read, and writing continues."""
    base = Store(str(tmp_path / "knowledge"))
    base.upsert(TURNS, row(1), "key")
    base.upsert(TURNS, row(2), "key")
    manifests(base)[-1].write_bytes(b"")

    again = Store(base.uri)

    assert again.count_rows(TURNS) == 1
    again.upsert(TURNS, row(2), "key")
    assert Store(base.uri).count_rows(TURNS) == 2
    assert "a loss of power interrupted a commit" in capsys.readouterr().out


@pytest.mark.parametrize("versions", [(), ("1.manifest",)], ids=["no version", "an empty first version"])
def test_a_table_whose_creation_was_cut_off_is_created_again(tmp_path: Path, versions: tuple[str, ...]) -> None:
    """A folder of a table appears before its first version; a process that ends between them leaves a usable store."""
    base = Store(str(tmp_path / "knowledge"))
    folder = tmp_path / "knowledge" / f"{TURNS}.lance" / "_versions"
    folder.mkdir(parents=True)
    for version in versions:
        (folder / version).touch()

    assert base.count_rows(TURNS) == 0
    base.upsert(TURNS, row(1), "key")
    assert Store(base.uri).count_rows(TURNS) == 1


def test_data_without_a_version_is_not_replaced_by_an_empty_table(tmp_path: Path) -> None:
    """A table that has lost all its versions is an error that names it, and its data stay."""
    base = Store(str(tmp_path / "knowledge"))
    base.upsert(TURNS, row(1), "key")
    for manifest in manifests(base):
        manifest.unlink()

    with pytest.raises(CorruptTable, match=TURNS):
        Store(base.uri).count_rows(TURNS)
    assert any((tmp_path / "knowledge" / f"{TURNS}.lance" / "data").iterdir())


def test_complete_versions_are_kept(tmp_path: Path) -> None:
    """A table without an empty manifest and a folder that does not exist are left alone."""
    base = Store(str(tmp_path / "knowledge"))
    base.upsert(TURNS, row(1), "key")
    before = manifests(base)

    assert remove_interrupted_versions(tmp_path / "knowledge" / f"{TURNS}.lance") == 0
    assert remove_interrupted_versions(tmp_path / "absent.lance") == 0
    assert manifests(base) == before


def test_a_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    """A flush that cannot happen is not taken for one that did."""
    with pytest.raises(OSError, match="absent"):
        flush_folder(tmp_path / "absent")


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace on this machine: `apt-get install strace`")
def test_the_system_is_asked_to_flush(tmp_path: Path) -> None:
    """The flush reaches the kernel."""
    code = "import sys, pathlib; from tenure.knowledge.store.flushing import *; flush_folder(pathlib.Path(sys.argv[1]))"
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-e", "trace=syncfs,sync", "-o", str(trace), sys.executable, "-c", code, str(tmp_path)]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[3])

    assert "sync" in trace.read_text()
