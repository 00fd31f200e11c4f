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
from tenure.knowledge.store.schema import MEMORY_USES, MEMORY_USES_SCHEMA
from tenure.knowledge.store.store import Store


def row(number: int) -> pa.Table:
    """Return one row of the table."""
    values = {"use_count": 1, "last_used_at": 0, "used_by": ""}
    return pa.Table.from_pylist([{"memory": str(number), **values}], schema=MEMORY_USES_SCHEMA)


def manifests(base: Store) -> list[Path]:
    """Return the manifests of the table, the newest last."""
    assert base.folder is not None
    found = (base.folder / f"{MEMORY_USES}.lance" / "_versions").glob("*.manifest")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def test_every_commit_is_flushed_before_it_counts_as_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An insertion and a deletion return only after their files have been flushed."""
    base = Store(str(tmp_path / "knowledge"))
    flushed: list[int] = []
    monkeypatch.setattr(store, "flush_folder", lambda folder: flushed.append(len(manifests(base))))
    for number in (1, 2):
        base.upsert(MEMORY_USES, row(number), "memory")
        assert flushed[-1] == len(manifests(base))
    base.delete_rows(MEMORY_USES, "true")
    assert flushed[-1] == len(manifests(base))
    assert len(flushed) >= 4  # the creation of the table as well


def test_a_commit_that_a_loss_of_power_cut_off_does_not_hide_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty manifest is removed with a line in the log: finished commits are read, and writing continues."""
    base = Store(str(tmp_path / "knowledge"))
    base.upsert(MEMORY_USES, row(1), "memory")
    base.upsert(MEMORY_USES, row(2), "memory")
    manifests(base)[-1].write_bytes(b"")

    again = Store(base.uri)

    assert again.count_rows(MEMORY_USES) == 1
    again.upsert(MEMORY_USES, row(2), "memory")
    assert Store(base.uri).count_rows(MEMORY_USES) == 2
    assert "a loss of power interrupted a commit" in capsys.readouterr().out


@pytest.mark.parametrize("versions", [(), ("1.manifest",)], ids=["no version", "an empty first version"])
def test_a_table_whose_creation_was_cut_off_is_created_again(tmp_path: Path, versions: tuple[str, ...]) -> None:
    """A folder of a table appears before its first version; a process that ends between them leaves a usable store."""
    base = Store(str(tmp_path / "knowledge"))
    folder = tmp_path / "knowledge" / f"{MEMORY_USES}.lance" / "_versions"
    folder.mkdir(parents=True)
    for version in versions:
        (folder / version).touch()

    assert base.count_rows(MEMORY_USES) == 0
    base.upsert(MEMORY_USES, row(1), "memory")
    assert Store(base.uri).count_rows(MEMORY_USES) == 1


def test_data_without_a_version_is_not_replaced_by_an_empty_table(tmp_path: Path) -> None:
    """A table that has lost all its versions is an error that names it, and its data stay."""
    base = Store(str(tmp_path / "knowledge"))
    base.upsert(MEMORY_USES, row(1), "memory")
    for manifest in manifests(base):
        manifest.unlink()

    with pytest.raises(CorruptTable, match=MEMORY_USES):
        Store(base.uri).count_rows(MEMORY_USES)
    assert any((tmp_path / "knowledge" / f"{MEMORY_USES}.lance" / "data").iterdir())


def test_complete_versions_are_kept(tmp_path: Path) -> None:
    """A table without an empty manifest and a folder that does not exist are left alone."""
    base = Store(str(tmp_path / "knowledge"))
    base.upsert(MEMORY_USES, row(1), "memory")
    before = manifests(base)

    assert remove_interrupted_versions(tmp_path / "knowledge" / f"{MEMORY_USES}.lance") == 0
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
