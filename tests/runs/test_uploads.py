"""Test the store of uploaded documents: names, bounds, and what is left after a failure."""

import errno
import io
from pathlib import Path
from typing import IO, cast

import pytest

from tenure.document_roots import ROOTS_FILE
from tenure.runs import uploads
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.uploads import Upload, delete_upload, find_upload, list_uploads, make_safe_path
from tenure.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, _env_file=None)


def fill(upload: Upload, **files: bytes) -> Upload:
    """Send files by their names, in which `__` stands for the dot."""
    for name, content in files.items():
        upload.open(name.replace("__", "."))
        upload.write(content)
        upload.close()
    return upload


def list_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a.pdf", "a.pdf"),
        ("papers/2024/a.pdf", "papers/2024/a.pdf"),
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("C:\\Users\\me\\a.pdf", "C:/Users/me/a.pdf"),
        ("a/./b//c.txt", "a/b/c.txt"),
        ("gnp\u202efdp.exe", "gnp_fdp.exe"),
        ("line\nfeed\0.txt", "line_feed_.txt"),
        ("cafe\u0301.txt", "caf\xe9.txt"),
        ("日本語.pdf", "日本語.pdf"),
        (ROOTS_FILE, f"_{ROOTS_FILE}"),
        (".env", None),
        ("project/.git/config", None),
        ("", None),
        ("..", None),
        ("/", None),
    ],
)
def test_names_of_clients_stay_below_the_folder(name: str, path: str | None) -> None:
    """A path above the folder, a hidden file or a mark that turns the writing never gets onto the disk."""
    made = make_safe_path(name)

    assert (None if made is None else str(made)) == path


@pytest.mark.parametrize("name", ["x" * 5_000 + ".pdf", "日" * 400 + ".pdf", "d/" * 200 + "a.pdf", "a." + "x" * 3_000])
def test_long_names_fit_into_a_file_system(name: str, settings: Settings) -> None:
    """A name that no file system takes is cut, with its suffix where it is one."""
    corpus = fill(Upload(settings), **{name.replace(".", "__"): b"x"}).publish("c")
    (stored,) = list_files(settings.home / "uploads" / corpus)

    assert all(len(part.encode()) <= 220 for part in Path(stored).parts)
    assert stored.endswith(".pdf") or name.startswith("a.")


def test_documents_become_a_corpus_that_can_be_deleted(settings: Settings) -> None:
    """Files with equal names are kept apart, further ones are added, and nothing is left after the deletion."""
    first = Upload(settings)
    for content in (b"one", b"two"):
        fill(first, a__txt=content)
    first.add_text("Rye rises for two hours.\nMore of it.")
    name = first.publish()
    fill(Upload(settings), b__txt=b"three", a__txt=b"new").publish(name)
    folder = find_upload(settings, name)

    assert folder is not None and name.startswith("a-") and list_uploads(settings) == (name,)
    assert list_files(folder) == ["a-2.txt", "a.txt", "b.txt", "rye-rises-for-two-hours-more-of-it.md"]
    assert (folder / "a.txt").read_text() == "new"
    assert delete_upload(settings, name) and not delete_upload(settings, name)
    assert list_files(settings.home / "uploads") == []


@pytest.mark.parametrize(("corpus", "words"), [("../x", "not a corpus name"), ("manual", "manual of Tenure")])
def test_a_corpus_needs_a_name_of_its_own(settings: Settings, corpus: str, words: str) -> None:
    """A name that leads out of the folder, and that of the manual, are refused at their field."""
    upload = fill(Upload(settings), a__txt=b"x")
    with pytest.raises(InvalidRequest, match=words) as caught:
        upload.publish(corpus)
    upload.discard()

    assert caught.value.field == "corpus"
    assert list_files(settings.home) == []


def test_bounds_are_kept(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many files, too large files and too many bytes in all are refused, and leave nothing behind."""
    monkeypatch.setattr(uploads, "MAX_FILE_BYTES", 10)
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 15)
    monkeypatch.setattr(uploads, "MAX_UPLOAD_FILES", 2)
    for files in ({"a": b"x" * 11}, {"a": b"x" * 10, "b": b"x" * 10}, {"a": b"", "b": b"", "c": b""}):
        upload = Upload(settings)
        with pytest.raises(InvalidRequest) as caught:
            fill(upload, **files)
        upload.discard()

        assert caught.value.field == "files"
        assert list_files(settings.home) == []


def test_nothing_but_hidden_files_is_no_upload(settings: Settings) -> None:
    """Hidden files are named, not stored, and alone make no corpus."""
    upload = fill(Upload(settings), __env=b"KEY=1")
    with pytest.raises(InvalidRequest, match="not hidden"):
        upload.publish("c")

    assert upload.left_out == [".env"] and not (settings.home / "uploads").exists()


@pytest.mark.parametrize("is_buffered", [False, True])
def test_a_full_disk_is_explained(settings: Settings, is_buffered: bool) -> None:
    """A write that fails, immediately or when the file is closed, is an error with its reason and stores nothing."""
    upload = Upload(settings)
    upload.open("a.txt")
    assert upload._file is not None
    upload._file.close()
    disk = FullDisk()
    upload._file = cast(IO[bytes], io.BufferedWriter(disk) if is_buffered else disk)
    with pytest.raises(TenureError, match="No space left on device"):
        fill_open(upload)
    upload.discard()

    assert list_files(settings.home) == [] and list_uploads(settings) == ()


class FullDisk(io.RawIOBase):
    """File on a disk without room."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def fill_open(upload: Upload) -> None:
    upload.write(b"x")
    upload.close()
