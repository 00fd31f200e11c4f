"""Store the patches of all states in an object store, which all machines reach."""

from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from tenure.files.file_store import FileStore
from tenure.repositories.changes import MAX_PATCH_BYTES


class SharedPatches:
    """Patches in the object store of files; without one, they are in the knowledge base."""

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def save_patch(self, run: str, digest: str, patch: bytes) -> None:
        """Store a patch under its hash.

        Raises:
            FileStoreUnreachable: the object store does not answer or refuses.
        """
        self._store.upload(BytesIO(patch))

    def load_patch(self, run: str, digest: str) -> bytes | None:
        """Return the patch with a hash.

        Raises:
            FileStoreUnreachable: the object store does not answer or refuses.
            SharedFileRefused: it was deleted or exchanged.
        """
        with TemporaryDirectory(prefix="tenure-patch-") as folder:
            file = Path(folder) / "patch"
            self._store.download(self._store.locate(digest), file, MAX_PATCH_BYTES)
            return file.read_bytes()
