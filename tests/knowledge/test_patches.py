"""Stored patches: by run and hash, encrypted, deleted with their run, and bounded."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tenure.knowledge import patches
from tenure.knowledge.patches import StoredPatches, delete_patches, trim_patches
from tenure.knowledge.store.schema import PATCHES
from tenure.knowledge.store.store import Store


class Reverse:
    """Cipher that reverses."""

    def encrypt(self, data: bytes) -> bytes:
        return data[::-1]

    def decrypt(self, data: bytes) -> bytes | None:
        return data[::-1]


def test_a_patch_is_found_by_run_and_hash(tmp_path: Path) -> None:
    """A second store of the same patch changes nothing, and another run has none."""
    stored = StoredPatches(Store(str(tmp_path)))
    for _ in range(2):
        stored.save_patch("run-1", "a" * 64, b"diff\0\xff")
    assert stored.load_patch("run-1", "a" * 64) == b"diff\0\xff"
    assert stored.load_patch("run-2", "a" * 64) is None
    assert Store(str(tmp_path)).count_rows(PATCHES) == 1


def test_a_patch_is_encrypted(tmp_path: Path) -> None:
    """With keys, the table holds no readable patch."""
    store = Store(str(tmp_path))
    stored = StoredPatches(store, Reverse())
    stored.save_patch("run-1", "a" * 64, b"diff")
    assert store.read_rows(PATCHES, ["patch"]).to_pylist() == [{"patch": b"ffid"}]
    assert stored.load_patch("run-1", "a" * 64) == b"diff"


def test_patches_are_deleted_with_their_run(tmp_path: Path) -> None:
    """Those of child workflows as well, and no others; a store without patches has none to delete."""
    store = Store(str(tmp_path))
    delete_patches(store, "run-1")
    stored = StoredPatches(store)
    for run in ("run-1", "run-1/part", "run-10"):
        stored.save_patch(run, "a" * 64, b"diff")
    delete_patches(store, "run-1")
    assert [stored.load_patch(run, "a" * 64) for run in ("run-1", "run-1/part", "run-10")] == [None, None, b"diff"]


def test_old_and_excess_patches_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Maintenance removes the oldest ones until the rest is small enough."""
    store = Store(str(tmp_path))
    stored = StoredPatches(store)
    for number in range(3):
        stored.save_patch("run", str(number), b"x" * 1_000)
    assert trim_patches(store) == 0
    monkeypatch.setattr(patches, "MAX_PATCHES_BYTES", 2 * 1_300)
    assert trim_patches(store) == 1
    assert stored.load_patch("run", "0") is None
    monkeypatch.setattr(patches, "MAX_PATCH_AGE", datetime.now(UTC) - datetime.now(UTC) - timedelta(seconds=1))
    assert trim_patches(store) == 2
