"""Store small files of a knowledge base that are written once and read by their names.

A table would need a commit for each of them: several files of its own, a version that maintenance has to remove, and
rows to merge. As after a commit, a file that was written is on the disk.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from tenure.files.file_store import SCHEME, open_object_store
from tenure.knowledge.store.errors import StoreUnreachable
from tenure.knowledge.store.flushing import flush_folder

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

_PARTIAL_SUFFIX = ".tmp"
"""Suffix of a file that is not complete, or whose writer was killed."""


class StoredFiles:
    """Files in the folder or the S3 store of one knowledge base; safe to share between threads and processes.

    Every method raises `StoreUnreachable` if the store does not answer.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri.rstrip("/")
        self._folder = None if "://" in uri else Path(uri)

    @cached_property
    def _objects(self) -> "S3FileSystem":
        return open_object_store(self._uri)

    def write(self, name: str, data: bytes) -> None:
        """Store a file, or replace it; readers see all of it or the file that it replaces."""
        with self._translate_errors():
            if self._folder is None:
                with self._objects.open_output_stream(self._build_key(name)) as target:
                    target.write(data)
                return
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f"{path.name}-{uuid4().hex}{_PARTIAL_SUFFIX}")
            partial.write_bytes(data)
            partial.replace(path)
            flush_folder(self._folder)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if there is none."""
        with self._translate_errors():
            try:
                if self._folder is not None:
                    return (self._folder / name).read_bytes()
                with self._objects.open_input_stream(self._build_key(name)) as source:
                    data: bytes = source.read()
                    return data
            except FileNotFoundError:
                return None

    def list_names(self, folder: str) -> frozenset[str]:
        """Return the names of the files in a folder; none if there is no such folder."""
        with self._translate_errors():
            if self._folder is None:
                from pyarrow.fs import FileSelector

                selector = FileSelector(self._build_key(folder), allow_not_found=True)
                return frozenset(file.base_name for file in self._objects.get_file_info(selector))
            try:
                paths = list((self._folder / folder).iterdir())
            except FileNotFoundError:
                return frozenset()
            return frozenset(path.name for path in paths if path.suffix != _PARTIAL_SUFFIX)

    def _build_key(self, name: str) -> str:
        return f"{self._uri.removeprefix(SCHEME)}/{name}"

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreUnreachable(self._uri, str(error)) from error
