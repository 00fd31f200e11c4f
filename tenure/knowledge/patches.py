"""Store the patches of the states of repositories, by run and hash."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pyarrow as pa

from tenure.knowledge.answers import AnswerCipher, get_run
from tenure.knowledge.store.schema import PATCHES, PATCHES_SCHEMA, hash_parts
from tenure.knowledge.store.store import Store, quote_literal

MAX_PATCH_AGE: Final = timedelta(days=365)
"""Age from which a patch is removed: as long as a local server keeps finished runs."""
MAX_PATCHES_BYTES: Final = 20_000_000_000
"""Size of all patches from which the oldest are removed."""
_ROW_OVERHEAD_BYTES: Final = 300
"""Estimated bytes of a row besides the patch."""


class StoredPatches:
    """Patches of all runs of one store; safe to share between threads, processes and machines."""

    def __init__(self, store: Store, cipher: AnswerCipher | None = None) -> None:
        self._store, self._cipher = store, cipher

    def save_patch(self, run: str, digest: str, patch: bytes) -> None:
        """Store the patch of a run."""
        sealed = self._cipher.encrypt(patch) if self._cipher else patch
        row = {
            "key": hash_parts(run, digest),
            "run": get_run(run),
            "created_at": datetime.now(UTC).isoformat(timespec="microseconds"),
            "size": len(sealed),
            "patch": sealed,
        }
        self._store.upsert(PATCHES, pa.Table.from_pylist([row], schema=PATCHES_SCHEMA), "key")

    def load_patch(self, run: str, digest: str) -> bytes | None:
        """Return a patch of a run, or None if there is none that the keys decrypt."""
        where = f"key = {quote_literal(hash_parts(run, digest))}"
        rows = self._store.read_rows(PATCHES, ["patch"], where).to_pylist()
        if not rows:
            return None
        sealed: bytes = rows[0]["patch"]
        return self._cipher.decrypt(sealed) if self._cipher else sealed


def delete_patches(store: Store, run: str) -> None:
    """Delete the patches of a run."""
    if PATCHES in store.list_table_names():
        store.delete_rows(PATCHES, f"run = {quote_literal(get_run(run))}")


def trim_patches(store: Store) -> int:
    """Remove the patches that are too old, and the oldest ones until the rest is small enough; return the number."""
    oldest = (datetime.now(UTC) - MAX_PATCH_AGE).isoformat(timespec="microseconds")
    return store.trim_rows(PATCHES, "key", "created_at", MAX_PATCHES_BYTES, _ROW_OVERHEAD_BYTES, oldest)
