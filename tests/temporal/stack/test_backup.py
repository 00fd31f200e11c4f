"""Test copies of a home that is in use, and their restoration."""

import json
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from tenure.knowledge.store.schema import MEMORY_USES, MEMORY_USES_SCHEMA
from tenure.knowledge.store.store import Store
from tenure.temporal.stack.backup import MANIFEST, BackupError, create_backup, restore_backup


def _write_use(store: Store, number: int) -> None:
    columns = {"memory": [f"m{number}"], "use_count": [number], "last_used_at": [0], "used_by": [""]}
    store.upsert(MEMORY_USES, pa.table(columns, schema=MEMORY_USES_SCHEMA), "memory")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with a database, a knowledge base, an artifact, a link, and state of running processes."""
    home = tmp_path / "home"
    (home / "artifacts").mkdir(parents=True)
    (home / "logs").mkdir()
    (home / "artifacts" / "plot.svg").write_text("<svg/>")
    (home / "logs" / "worker.log").write_text("line\n")
    (home / "stack.json").write_text("{}")
    (home / "stack.lock").write_text("")
    (home / "outside").symlink_to("/etc/hostname")
    with closing(sqlite3.connect(home / "temporal.db")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE events (n INTEGER)")
        database.commit()
    _write_use(Store(str(home / "knowledge")), 0)
    return home


@pytest.fixture
def writing(home: Path) -> Iterator[None]:
    """Write into the database and the knowledge base of the home all the time."""
    stopping, started = threading.Event(), threading.Event()

    def write() -> None:
        store, number = Store(str(home / "knowledge")), 0
        with closing(sqlite3.connect(home / "temporal.db", timeout=60)) as database:
            while not stopping.is_set():
                number += 1
                _write_use(store, number)
                database.execute("INSERT INTO events VALUES (?)", (number,))
                database.commit()
                started.set()

    thread = threading.Thread(target=write)
    thread.start()
    started.wait()
    yield
    stopping.set()
    thread.join()


def _count_events(home: Path) -> int:
    with closing(sqlite3.connect(home / "temporal.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return int(database.execute("SELECT max(n) FROM events").fetchone()[0])


def _list_uses(home: Path) -> set[int]:
    return set(Store(str(home / "knowledge")).read_rows(MEMORY_USES, ["use_count"], "true")["use_count"].to_pylist())


@pytest.mark.usefixtures("writing")
def test_a_copy_of_a_home_in_use_is_consistent(home: Path, tmp_path: Path) -> None:
    """Everything that the copied database calls written is in the copied knowledge base."""
    create_backup(home, tmp_path / "copy")
    restore_backup(tmp_path / "copy", tmp_path / "restored")

    assert set(range(1, _count_events(tmp_path / "restored") + 1)) <= _list_uses(tmp_path / "restored")
    assert (tmp_path / "restored" / "artifacts" / "plot.svg").read_text() == "<svg/>"


def test_a_copy_is_private_and_has_no_state_of_processes(home: Path, tmp_path: Path) -> None:
    """Links, logs, locks and the record of the stack are not copied, and only the user can read the copy."""
    create_backup(home, tmp_path / "copy")
    copied = {path.relative_to(tmp_path / "copy").as_posix() for path in (tmp_path / "copy").rglob("*")}

    assert not copied & {"outside", "logs", "stack.json", "stack.lock", "temporal.db-wal"}
    assert {"temporal.db", "artifacts/plot.svg", MANIFEST} < copied
    private = [tmp_path / "copy", *(path for path in (tmp_path / "copy").rglob("*") if path.is_file())]
    assert not any(stat.S_IMODE(path.stat().st_mode) & 0o077 for path in private)


@pytest.mark.parametrize(
    "name",
    [
        "../escaped",
        "../copy/artifacts/plot.svg",
        "artifacts/../../copy/artifacts/plot.svg",
        "{copy}/artifacts/plot.svg",
        "/etc/hostname",
        "./artifacts/plot.svg",
        "artifacts//plot.svg",
        "artifacts/plot.svg\0",
        "logs/plot.svg",
        "stack.json",
        "link/hostname",
        "",
        ".",
    ],
)
def test_a_manifest_that_names_other_paths_is_refused(home: Path, tmp_path: Path, name: str) -> None:
    """Nothing is written outside of the new home, also not if the named content exists with the right hash."""
    copy, target = tmp_path / "copy", tmp_path / "new" / "target"
    create_backup(home, copy)
    target.parent.mkdir()
    (copy / "logs").mkdir()
    for other in ("logs/plot.svg", "stack.json", "../escaped"):
        (copy / other).write_bytes((copy / "artifacts" / "plot.svg").read_bytes())
    (copy / "link").symlink_to("/etc")
    manifest = json.loads((copy / MANIFEST).read_text())
    manifest["files"] = {name.format(copy=copy): manifest["files"]["artifacts/plot.svg"]}
    (copy / MANIFEST).write_text(json.dumps(manifest))
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(BackupError, match="outside of the backup"):
        restore_backup(copy, target)
    assert before == sorted(tmp_path.rglob("*"))


def test_a_damaged_copy_is_not_restored(home: Path, tmp_path: Path) -> None:
    """A changed, missing or foreign file stops the restoration before the home exists."""
    copy, target = tmp_path / "copy", tmp_path / "target"
    create_backup(home, copy)
    manifest = json.loads((copy / MANIFEST).read_text())

    (copy / "artifacts" / "plot.svg").write_text("<svg />")
    with pytest.raises(BackupError, match=r"plot\.svg is missing or damaged"):
        restore_backup(copy, target)
    (copy / "artifacts" / "plot.svg").unlink()
    with pytest.raises(BackupError, match=r"plot\.svg is missing or damaged"):
        restore_backup(copy, target)
    manifest["files"] = {"../home/temporal.db": manifest["files"]["temporal.db"]}
    (copy / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(BackupError, match="outside of the backup"):
        restore_backup(copy, target)
    (copy / MANIFEST).write_text("{")
    with pytest.raises(BackupError, match="is damaged"):
        restore_backup(copy, target)
    (copy / MANIFEST).unlink()
    with pytest.raises(BackupError, match="is no complete backup"):
        restore_backup(copy, target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "home"]


def test_nothing_is_overwritten(home: Path, tmp_path: Path) -> None:
    """A folder or home with content is left as it is, and a copy does not go into its own home."""
    create_backup(home, tmp_path / "copy")

    with pytest.raises(BackupError, match="is not empty"):
        create_backup(home, tmp_path / "copy")
    with pytest.raises(BackupError, match="is not empty"):
        restore_backup(tmp_path / "copy", home)
    with pytest.raises(BackupError, match="is inside of the home"):
        create_backup(home, home / "copy")
    with pytest.raises(BackupError, match="has nothing to copy"):
        create_backup(tmp_path / "nowhere", tmp_path / "other")
    with pytest.raises(BackupError, match="is not a folder"):
        create_backup(home, tmp_path / "copy" / MANIFEST)


def test_a_backup_of_a_newer_version_is_refused(home: Path, tmp_path: Path) -> None:
    """A format that this version does not know is not guessed."""
    create_backup(home, tmp_path / "copy")
    manifest = json.loads((tmp_path / "copy" / MANIFEST).read_text()) | {"format": 99}
    (tmp_path / "copy" / MANIFEST).write_text(json.dumps(manifest))

    with pytest.raises(BackupError, match="update Tenure first"):
        restore_backup(tmp_path / "copy", tmp_path / "target")
