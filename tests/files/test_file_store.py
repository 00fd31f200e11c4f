"""Share files through a real S3-compatible object store over HTTP."""

import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow.fs import S3FileSystem

from tenure.files.file_store import (
    FileStore,
    FileStoreError,
    FileStoreUnreachable,
    SharedFileRefused,
    is_shared,
)
from tests.support.servers.object_store import object_store
from tests.support.tiers import slow

CONTENT = os.urandom(3 << 20)


@pytest.fixture(scope="module")
def variables() -> Iterator[dict[str, str]]:
    with object_store("bucket") as found:
        yield found


@pytest.fixture
def store(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> FileStore:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return FileStore("s3://bucket/files/")


def overwrite(location: str, content: bytes, variables: dict[str, str]) -> None:
    """Write an object as a program with the keys of the store would."""
    address = variables["AWS_ENDPOINT_URL"].removeprefix("http://")
    objects = S3FileSystem(access_key="key", secret_key="secret", endpoint_override=address, scheme="http")
    with objects.open_output_stream(location.removeprefix("s3://")) as stream:
        stream.write(content)


def test_a_stored_file_is_read_on_another_machine(store: FileStore, tmp_path: Path) -> None:
    """A file has the same content and one location, however often it is stored, and the copy is private."""
    location = store.upload(io.BytesIO(CONTENT))
    target = tmp_path / "copy"

    assert store.upload(io.BytesIO(CONTENT)) == location
    assert is_shared(location) and location.startswith("s3://bucket/files/_shared/")
    assert FileStore("s3://bucket/files").download(location, target, len(CONTENT)) == len(CONTENT)
    assert target.read_bytes() == CONTENT
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        store.download(location, target, len(CONTENT))


def test_an_empty_file_is_a_file(store: FileStore, tmp_path: Path) -> None:
    """A file without content is stored and read as well."""
    assert store.download(store.upload(io.BytesIO(b"")), tmp_path / "copy", 0) == 0


@pytest.mark.parametrize("change", ["exchanged", "longer", "missing"])
def test_a_changed_object_is_refused(store: FileStore, variables: dict[str, str], tmp_path: Path, change: str) -> None:
    """Content that does not fit its name, is too large or is gone gives one line, and leaves no file."""
    location = store.upload(io.BytesIO(change.encode()))
    if change == "missing":
        location = location[:-64] + "0" * 64
    else:
        overwrite(location, b"x" * len(change) * (1 if change == "exchanged" else 9), variables)

    with pytest.raises(SharedFileRefused, match="s3://bucket/files/_shared/") as raised:
        store.download(location, tmp_path / "copy", len(change))
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "location",
    [
        "s3://bucket/files/bob/" + "0" * 64,
        "s3://bucket/files/_shared/" + "0" * 64,
        "s3://bucket/files/ann/../bob/" + "0" * 64,
        "s3://bucket/files/ann/" + "0" * 63,
        "s3://bucket/knowledge/ann/" + "0" * 64,
        "s3://other/artifacts/ann/" + "0" * 64,
        "/etc/passwd",
        "",
    ],
)
def test_a_file_of_another_owner_is_refused(store: FileStore, tmp_path: Path, location: str) -> None:
    """A file is read only from the folder of the owner, and only by the name of a hash."""
    anns = FileStore("s3://bucket/files", "ann")
    own = anns.upload(io.BytesIO(CONTENT))
    assert own.startswith("s3://bucket/files/ann/")
    assert anns.download(own, tmp_path / "own", len(CONTENT)) == len(CONTENT)
    with pytest.raises(SharedFileRefused, match="is not a file in"):
        anns.download(location, tmp_path / "copy", len(CONTENT))


def test_a_location_outside_the_store_is_not_read(store: FileStore, tmp_path: Path) -> None:
    """A result that names another bucket makes no request."""
    with pytest.raises(SharedFileRefused, match="is not a file in s3://bucket/files"):
        store.download("s3://elsewhere/artifacts/ann/" + "0" * 64, tmp_path / "copy", 9)


@slow
def test_an_unreachable_store_is_one_line(store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that refuses or does not answer is distinguished from a file that does not exist."""
    missing_bucket = FileStore("s3://nowhere/artifacts")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    silent = FileStore("s3://bucket/files")
    for broken in (missing_bucket, silent):
        with pytest.raises(FileStoreUnreachable) as raised:
            broken.upload(io.BytesIO(b"x"))
        assert "\n" not in str(raised.value)
    with pytest.raises(FileStoreError):
        silent.download("s3://bucket/files/_shared/" + "0" * 64, tmp_path / "copy", 9)


def test_a_file_that_changes_while_it_is_read_is_refused(store: FileStore) -> None:
    """The name of an object is the hash of what was sent, or an error is raised."""

    class Growing(io.BytesIO):
        def seek(self, offset: int, whence: int = 0) -> int:
            super().seek(0, 2)
            self.write(b"more")
            return super().seek(offset, whence)

    with pytest.raises(SharedFileRefused, match="changes while it is read"):
        store.upload(Growing(b"content"))
