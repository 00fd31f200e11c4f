"""Tests of unpacking archives."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from tenure.contracts.evidence.places import is_archive
from tenure.files.discovery import SkippedPath
from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.unpacking import UnpackLimits, unpack
from tests.sources.packages import pack_zeros, package

DAMAGED = "is damaged or compressed by an unknown method"


def make_tar(*members: tuple[str, bytes | None], mode: str = "w:gz", target: str = "") -> bytes:
    """Return an archive of files, and of links to `target` for members without content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content or b"")
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info, io.BytesIO(content or b""))
    return buffer.getvalue()


def unpack_bytes(folder: Path, name: str, data: bytes, **limits: int) -> tuple[dict[str, bytes], list[SkippedPath]]:
    """Return the unpacked files by their paths, and the skipped ones."""
    folder.mkdir(exist_ok=True)
    skipped = unpack(io.BytesIO(data), name, folder, UnpackLimits(**limits) if limits else None)
    files = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    return files, list(skipped)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.zip", package(docs__a="one", b="two")),
        ("a.tar", make_tar(("docs/a", b"one"), ("b", b"two"), mode="w")),
        ("A.TGZ", make_tar(("docs/a", b"one"), ("b", b"two"))),
        ("a.tar.bz2", make_tar(("docs/a", b"one"), ("b", b"two"), mode="w:bz2")),
        ("a.tar.xz", make_tar(("docs/a", b"one"), ("b", b"two"), mode="w:xz")),
    ],
)
def test_files_keep_their_paths(tmp_path: Path, name: str, data: bytes) -> None:
    """Archives of all kinds are unpacked with their folders."""
    assert is_archive(name)
    assert unpack_bytes(tmp_path / "x", name, data) == ({"docs/a": b"one", "b": b"two"}, [])


def test_a_compressed_file_is_unpacked(tmp_path: Path) -> None:
    """A file that is compressed alone loses the suffix."""
    assert unpack_bytes(tmp_path / "x", "a.csv.gz", gzip.compress(b"a,b")) == ({"a.csv": b"a,b"}, [])
    assert not is_archive("a.docx")


def test_archives_in_archives_are_folders(tmp_path: Path) -> None:
    """One in an archive is unpacked, and one in that is left as a file; a damaged one is named."""
    deepest = package(c="three")
    inner: dict[str, bytes | str] = {"b": "two", "deep.zip": deepest}
    outer: dict[str, bytes | str] = {"in__inner.zip": package(**inner), "bad.tgz": b"x"}
    files, skipped = unpack_bytes(tmp_path / "x", "a.zip", package(**outer))

    assert files == {"in/inner.zip/b": b"two", "in/inner.zip/deep.zip": deepest}
    assert skipped == [SkippedPath("bad.tgz", "is not a valid archive")]


def test_only_files_inside_the_folder_are_written(tmp_path: Path) -> None:
    """Links and paths that lead out are named, and nothing outside is written."""
    members = [("../up", b"x"), ("/top", b"x"), ("in/../../up", b"x"), ("C:\\win", b"x"), ("link", None), ("ok", b"y")]
    files, skipped = unpack_bytes(tmp_path / "x", "a.tar", make_tar(*members, mode="w", target="/etc"))
    zipped, others = unpack_bytes(tmp_path / "y", "a.zip", package(**{"..\\up": "x", "/top": "x", "ok": "y"}))

    reason = "has a path that leads out of its archive"
    assert files == zipped == {"ok": b"y"}
    assert {path: reason for path, reason in skipped} == {
        **{"../up": reason, "/top": reason, "in/../../up": reason, "C:\\win": reason},
        "link": "is a link",
    }
    assert [reason for _, reason in others] == [reason, reason]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "x", tmp_path / "y"]


def test_a_link_to_a_folder_is_no_way_out(tmp_path: Path) -> None:
    """A file below the name of a link is written into a folder of its own."""
    data = make_tar(("in", None), ("in/a", b"x"), mode="w", target=str(tmp_path / "target"))

    assert unpack_bytes(tmp_path / "x", "a.tar", data) == ({"in/a": b"x"}, [SkippedPath("in", "is a link")])


def test_names_that_clash_are_named(tmp_path: Path) -> None:
    """A second file of the same name, a file that is also a folder, and a name that is too long are skipped."""
    data = make_tar(("a", b"1"), ("a", b"2"), ("a/b", b"3"), ("n" * 300, b"4"), mode="w")
    files, skipped = unpack_bytes(tmp_path / "x", "a.tar", data)

    assert files == {"a": b"1"}
    assert [reason for _, reason in skipped] == [
        "could not be unpacked (file exists)",
        "could not be unpacked (file exists)",
        "could not be unpacked (file name too long)",
    ]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.zip", pack_zeros(60_000_000)),
        ("a.gz", gzip.compress(bytes(60_000_000))),
        ("a.tgz", make_tar(("a", bytes(60_000_000)))),
        ("a.zip", package(**{"a.zip": pack_zeros(60_000_000)})),
    ],
    ids=["zip", "gz", "tgz", "zip in zip"],
)
def test_bombs_are_one_line(tmp_path: Path, name: str, data: bytes) -> None:
    """An archive that expands to far more than its size is not read."""
    (tmp_path / "x").mkdir()
    limits = UnpackLimits(ratio=1, ratio_bytes=5_000_000, member_bytes=10**9)
    try:
        skipped = unpack(io.BytesIO(data), name, tmp_path / "x", limits)
    except Unreadable as error:
        skipped = (SkippedPath("", error.reason),)

    assert [reason for _, reason in skipped] == ["unpacks to more than 5 MB, which is far more than its size"]
    assert sum(file.stat().st_size for file in (tmp_path / "x").rglob("*")) < 8_000_000


def test_numbers_and_sizes_are_bounded(tmp_path: Path) -> None:
    """After the permitted number of files one line says so; a file that is too large is skipped, and a table is not."""
    data = package(**{"a.txt": "x" * 20, "b.csv": "x" * 20, "c": "x", "d": "x"})
    files, skipped = unpack_bytes(tmp_path / "x", "a.zip", data, members=3, member_bytes=10)

    assert files == {"b.csv": b"x" * 20, "c": b"x"}
    assert skipped == [
        SkippedPath("a.txt", "is larger than 1e-05 MB"),
        SkippedPath("", "was read without what follows its first 3 files"),
    ]


def encrypt(data: bytes) -> bytes:
    """Return a ZIP archive whose files are marked as encrypted."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        offsets = [member.header_offset + 6 for member in archive.infolist()]
    marked = bytearray(data)
    for offset in offsets:
        marked[offset] |= 1
    start = 0
    while (start := data.find(b"PK\x01\x02", start) + 1) > 0:
        marked[start + 7] |= 1
    return bytes(marked)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.zip", b"words", "is not a valid archive"),
        ("a.zip", package(a="one")[:-30], "is not a valid archive"),
        ("a.zip", encrypt(package(a="one", b="two")), "is encrypted"),
        ("a.zip", package(a="one", b="two").replace(b"one", b"won").replace(b"\x08\x00", b"\x63\x00"), DAMAGED),
        ("a.tar", b"words" * 300, "is not a valid archive"),
        ("a.gz", b"words", "is not a valid archive"),
        ("a.xz", b"words", "is not a valid archive"),
        ("a.mbox", b"words", "is not a valid mailbox"),
    ],
    ids=["words", "cut", "encrypted", "unknown method", "tar", "gz", "xz", "mbox"],  # bytes contain the time
)
def test_unreadable_archives_have_a_reason(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    """Damaged and encrypted archives are unreadable, each with its reason."""
    with pytest.raises(Unreadable) as caught:
        unpack(io.BytesIO(data), name, tmp_path)

    assert caught.value.reason == reason


def test_a_truncated_archive_is_read_in_part(tmp_path: Path) -> None:
    """The files before the damage are unpacked, and one line says that the rest is missing."""
    data = make_tar(*((f"{n}.txt", bytes(range(256)) * 40) for n in range(9)), mode="w")
    files, skipped = unpack_bytes(tmp_path / "x", "a.tar", data[:50_000])

    assert 3 <= len(files) < 9
    assert skipped == [SkippedPath("", "was read only in part: it is damaged")]
