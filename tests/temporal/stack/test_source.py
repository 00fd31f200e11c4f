"""The hash of a worker's code."""

from pathlib import Path

import pytest

from tenure.installation import ROOT
from tenure.temporal.stack.source import WORKER_SOURCES, compute_source_hash, iterate_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small installation."""
    for name in ("tenure/a/b.py", "workflows/c.py", "activities/d.py", "worker.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"NAME = {name!r}\n", encoding="utf-8")
    return tmp_path


def test_every_part_is_there() -> None:
    """Every hashed path exists, so that a renamed package cannot be forgotten."""
    assert all((ROOT / part).exists() for part in WORKER_SOURCES)


@pytest.mark.parametrize("name", ["tenure/a/b.py", "workflows/c.py", "activities/d.py", "worker.py"])
def test_changed_code_has_another_hash(root: Path, name: str) -> None:
    """One changed line anywhere is noticed."""
    before = compute_source_hash(root)
    (root / name).write_text("NAME = 'new'\n", encoding="utf-8")

    assert compute_source_hash(root) != before


def test_a_changed_plugin_has_another_hash(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Files in folders of plugins count as well."""
    plugins = tmp_path_factory.mktemp("plugins")
    before = compute_source_hash(root, [plugins])
    (plugins / "tools").mkdir()
    (plugins / "tools" / "new.py").touch()

    assert len({compute_source_hash(root), before, compute_source_hash(root, [plugins])}) == 2


def test_added_and_renamed_files_have_another_hash(root: Path) -> None:
    """Names count as much as contents."""
    before = compute_source_hash(root)
    (root / "tenure" / "a" / "b.py").rename(root / "tenure" / "a" / "c.py")
    renamed = compute_source_hash(root)
    (root / "workflows" / "new.py").touch()

    assert len({before, renamed, compute_source_hash(root)}) == 3


def test_what_no_worker_runs_does_not_count(root: Path) -> None:
    """Compiled files, documents and the client's commands leave the hash as it is."""
    before = compute_source_hash(root)
    for name in ("client.py", "tenure/a/__pycache__/b.pyc", "tenure/notes.md"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"changed")

    assert before == compute_source_hash(root)


def test_files_that_are_no_code_count_if_a_worker_reads_them(root: Path) -> None:
    """A changed template or a pinned package makes another version."""
    hashes = [compute_source_hash(root)]
    for name in ("tenure/a/page.css", "pyproject.toml"):
        (root / name).write_text("changed", encoding="utf-8")
        hashes.append(compute_source_hash(root))

    assert len(set(hashes)) == 3


def test_every_file_of_the_packages_is_in_a_copy() -> None:
    """A worker that runs from a copy of its source has the files that are no code, such as the one pytest reads."""
    names = {name for name, _ in iterate_files(ROOT)}
    folders = [ROOT / name for name in ("tenure", "workflows", "activities")]
    files = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    needed = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}

    assert needed <= names
