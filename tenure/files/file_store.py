"""Share files between machines through an S3-compatible object store: artifacts of programs, and large input files.

An object is named after the SHA-256 hash of its content, below a folder for its owner. Its content is compared with the
name whenever it is read, so an exchanged or damaged object is refused. Nothing is ever listed or deleted: credentials
that can get and put objects suffice.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from functools import cached_property
from io import BufferedIOBase
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow.fs import S3FileSystem

SCHEME = "s3://"
"""Beginning of the location of every shared file."""

_WITHOUT_OWNER = "_shared"
"""Folder of files without an owner; no owner can have this name."""
_CHUNK_BYTES = 1 << 20
_CONNECT_SECONDS = 10
_REQUEST_SECONDS = 60
_MAX_ATTEMPTS = 4
_DIGEST = re.compile(r"[0-9a-f]{64}")  # SHA-256 of the content, in hexadecimal digits.


class FileStoreError(Exception):
    """Base of errors of the store; the message is one line."""


class FileStoreUnreachable(FileStoreError):
    """The store does not answer, or refuses; a later attempt may succeed."""


class SharedFileRefused(FileStoreError):
    """The file cannot be read: its location is not allowed, it does not exist, or its content was exchanged."""


def build_storage_options(uri: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the connection options of an S3 store that clients do not find automatically.

    They read keys, tokens and profiles from the usual `AWS_*` variables, but not the region and the endpoint from the
    names that most tools use.
    """
    if not uri.startswith(SCHEME):
        return {}
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    options = {"region": region, "endpoint": endpoint}
    if endpoint and endpoint.startswith("http://"):
        options["allow_http"] = "true"
    return {name: value for name, value in options.items() if value}


def open_object_store(uri: str) -> "S3FileSystem":
    """Return the client of an S3 store; its paths begin with the bucket."""
    # Imported for the first file: commands that touch none start faster.
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    options = build_storage_options(uri, os.environ)
    scheme, _, address = options.get("endpoint", "").rpartition("://")
    return S3FileSystem(
        region=options.get("region"),
        endpoint_override=address.rstrip("/") or None,
        scheme=scheme or None,
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_REQUEST_SECONDS,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=_MAX_ATTEMPTS),
    )


def is_shared(path: str) -> bool:
    """Return whether a path is the location of a file in an object store."""
    return path.startswith(SCHEME)


class FileStore:
    """Files in one folder of an object store.

    Args:
        uri: location of the folder, such as `s3://bucket/files`.
        owner: owner of the files; empty for the owner without a name.
    """

    def __init__(self, uri: str, owner: str = "") -> None:
        self._folder = f"{uri.rstrip('/')}/{owner or _WITHOUT_OWNER}/"

    @cached_property
    def _objects(self) -> "S3FileSystem":
        return open_object_store(self._folder)

    def locate(self, digest: str) -> str:
        """Return the location of the content with a SHA-256 hash."""
        return self._folder + digest

    def upload(self, file: BufferedIOBase) -> str:
        """Store the content of an open file; return its location.

        Raises:
            FileStoreUnreachable: the object store does not answer or refuses.
            SharedFileRefused: the file changes while it is read.
        """
        location = self.locate(hashlib.file_digest(file, "sha256").hexdigest())
        file.seek(0)
        written = hashlib.sha256()
        try:
            with self._objects.open_output_stream(location.removeprefix(SCHEME)) as target:
                while chunk := file.read(_CHUNK_BYTES):
                    written.update(chunk)
                    target.write(chunk)
        except OSError as error:
            raise FileStoreUnreachable(f"{location} cannot be written: {_describe(error)}") from error
        if not location.endswith(written.hexdigest()):
            raise SharedFileRefused(f"{location} was not stored: the file changes while it is read")
        return location

    def download(self, location: str, target: Path, max_bytes: int) -> int:
        """Copy a file of this store into a new file that only its owner may read; return its size.

        Raises:
            FileStoreUnreachable: the object store does not answer or refuses.
            SharedFileRefused: it is elsewhere, of another owner, too large or missing, or its content was exchanged.
            OSError: the new file cannot be written.
        """
        digest = location.removeprefix(self._folder)
        if not location.startswith(self._folder) or not _DIGEST.fullmatch(digest):
            raise SharedFileRefused(
                f"{location} is not a file in {self._folder}: set TENURE_FILES_URI alike for all machines"
            )
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                size, content_digest = self._copy(location, file, max_bytes)
            if content_digest != digest:
                raise SharedFileRefused(f"{location} was exchanged: its content does not fit its name")
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return size

    def _copy(self, location: str, target: IO[bytes], max_bytes: int) -> tuple[int, str]:
        size, digest = 0, hashlib.sha256()
        try:
            source = self._objects.open_input_stream(location.removeprefix(SCHEME))
        except FileNotFoundError:
            raise SharedFileRefused(f"{location} does not exist: it was deleted from the store") from None
        except OSError as error:
            raise FileStoreUnreachable(f"{location} cannot be read: {_describe(error)}") from error
        with source:
            while True:
                try:
                    chunk = source.read(_CHUNK_BYTES)
                except OSError as error:
                    raise FileStoreUnreachable(f"{location} cannot be read: {_describe(error)}") from error
                if not chunk:
                    return size, digest.hexdigest()
                size += len(chunk)
                if size > max_bytes:
                    raise SharedFileRefused(f"{location} is larger than {max_bytes:,} bytes")
                digest.update(chunk)
                target.write(chunk)


def _describe(error: OSError) -> str:
    return " ".join(str(error).split())[:300]
