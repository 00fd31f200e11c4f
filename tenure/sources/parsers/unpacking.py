"""Unpack archives and mailboxes into a folder whose files are then read like those of any other folder.

Sizes, numbers and nesting are bounded, and only regular files inside the folder are written. A file that is not
unpacked is reported with the reason.
"""

import bz2
import errno
import gzip
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any, Final

from tenure.contracts.evidence.places import TAR_SUFFIXES, is_archive
from tenure.files.discovery import SkippedPath
from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.mailbox import iterate_messages
from tenure.sources.parsers.parse import DEFAULT_LIMIT_BYTES
from tenure.sources.tables.catalogue import TABLE_FORMATS

_COMPRESSED: Final[dict[str, Callable[..., Any]]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""Functions that open single compressed files."""
_MAX_DEPTH: Final = 2
"""Archives in each other: a mailbox in the export of an account is in an archive."""
_CHUNK_BYTES: Final = 1 << 20
_DRIVE: Final = re.compile(r"[A-Za-z]:")  # "C:" of an absolute path of Windows.
_DAMAGE: Final = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    RuntimeError,
    LookupError,
    ValueError,
)
"""Exceptions of the libraries for damaged archives and unknown methods; NotImplementedError is a RuntimeError."""
_ENCRYPTED_FLAG: Final = 1
_DAMAGED_MEMBER: Final = "is damaged or compressed by an unknown method"


@dataclass(frozen=True)
class UnpackLimits:
    """Bounds of what one archive contains, with the archives in it."""

    members: int = 20_000
    total_bytes: int = 1_000_000_000
    member_bytes: int = DEFAULT_LIMIT_BYTES
    """Maximum size of a file that is no table."""
    ratio: int = 200
    """Maximum ratio of unpacked to packed size above `ratio_bytes`; texts reach 20, and logs 100."""
    ratio_bytes: int = 50_000_000


def unpack(
    file: IO[bytes], name: str, folder: Path, limits: UnpackLimits | None = None, only: str = ""
) -> tuple[SkippedPath, ...]:
    """Unpack an open archive into an empty folder; return the files that are not unpacked, by their paths in it.

    With `only`, the file of this path in the archive is unpacked alone.

    Raises:
        Unreadable: it is damaged from its beginning, encrypted, or expands beyond the bounds.
    """
    unpacker = _Unpacker(folder, limits or UnpackLimits(), file.seek(0, 2), only)
    file.seek(0)
    unpacker.unpack(file, PurePath(name), PurePosixPath(), depth=1)
    return tuple(unpacker.skipped)


class _Full(Exception):
    """The archive contains more files than are unpacked."""


class _Unpacker:
    def __init__(self, folder: Path, limits: UnpackLimits, packed_bytes: int, only: str) -> None:
        self.skipped: list[SkippedPath] = []
        self._only = only
        self._folder, self._limits = folder, limits
        self._max_bytes = min(limits.total_bytes, max(limits.ratio * packed_bytes, limits.ratio_bytes))
        self._bytes = self._members = 0

    def unpack(self, file: IO[bytes], path: PurePath, inside: PurePosixPath, depth: int) -> None:
        """Unpack an archive, whose files get paths that begin with `inside`."""
        before, name = self._members, path.name.lower()
        try:
            if name.endswith(".zip"):
                self._unpack_zip(file, inside, depth)
            elif name.endswith(TAR_SUFFIXES):
                self._unpack_tar(file, inside, depth)
            elif (suffix := path.suffix.lower()) in _COMPRESSED:
                with _COMPRESSED[suffix](file) as content:
                    self._store(inside / path.stem, content, 0, depth)
            else:
                self._unpack_mailbox(file, inside, depth)
        except _Full:
            self._skip(inside, f"was read without what follows its first {self._limits.members:,} files")
        except _DAMAGE as error:
            if self._members == before:
                raise Unreadable("is not a valid archive") from error
            self._skip(inside, "was read only in part: it is damaged")

    def _unpack_zip(self, file: IO[bytes], inside: PurePosixPath, depth: int) -> None:
        with zipfile.ZipFile(file) as package:
            members = [member for member in package.infolist() if not member.is_dir()]
            self._check_bytes(sum(member.file_size for member in members))
            encrypted = [member for member in members if member.flag_bits & _ENCRYPTED_FLAG]
            if encrypted and len(encrypted) == len(members):
                raise Unreadable("is encrypted")
            damaged = 0
            for member in members:
                path = inside / member.filename.replace("\\", "/")
                if member.flag_bits & _ENCRYPTED_FLAG:
                    self._skip(path, "is encrypted")
                elif stat.S_ISLNK(member.external_attr >> 16):
                    self._skip(path, "is a link")
                else:
                    try:
                        with package.open(member) as content:
                            self._store(path, content, member.file_size, depth)
                    except _DAMAGE:
                        damaged += 1
                        self._skip(path, _DAMAGED_MEMBER)
            if damaged == len(members) > 0:
                del self.skipped[-damaged:]
                raise Unreadable(_DAMAGED_MEMBER)

    def _unpack_tar(self, file: IO[bytes], inside: PurePosixPath, depth: int) -> None:
        with tarfile.open(fileobj=file, mode="r|*") as package:
            for member in package:
                path = inside / member.name
                if member.isfile() and (content := package.extractfile(member)) is not None:
                    self._store(path, content, member.size, depth)
                elif not member.isdir():
                    self._skip(path, "is a link" if member.issym() or member.islnk() else "is not a regular file")

    def _unpack_mailbox(self, file: IO[bytes], inside: PurePosixPath, depth: int) -> None:
        for name, message in iterate_messages(file, self._limits.member_bytes):
            self._store(inside / name, BytesIO(message), len(message), depth)

    def _store(self, path: PurePosixPath, content: IO[bytes], size: int, depth: int) -> None:
        """Write a file, and unpack it if it is an archive."""
        if self._members >= self._limits.members:
            raise _Full
        self._members += 1
        if self._only and not PurePosixPath(self._only).is_relative_to(path):
            return
        if path.is_absolute() or ".." in path.parts or _DRIVE.match(path.parts[0]):
            self._skip(path, "has a path that leads out of its archive")
            return
        is_inner = is_archive(str(path)) and depth < _MAX_DEPTH
        if size > self._limits.member_bytes and not is_inner and path.suffix.lower() not in TABLE_FORMATS:
            self._skip(path, f"is larger than {self._limits.member_bytes / 1e6:g} MB")
            return
        target = self._folder.joinpath(*path.parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as file:
                self._copy(content, file)
        except _DAMAGE as error:
            # The beginning of a text is worth reading, unless a checksum says that it is wrong.
            if isinstance(error, zipfile.BadZipFile) or not target.stat().st_size:
                target.unlink()
                self._members -= 1
            raise
        except OSError as error:
            if error.errno in (None, errno.ENOSPC, errno.EDQUOT):
                raise
            # Its name is too long, or that of a folder or of a file before it.
            self._skip(path, f"could not be unpacked ({(error.strerror or type(error).__name__).lower()})")
            return
        if is_inner:
            self._unpack_inner(target, path, depth)

    def _copy(self, content: IO[bytes], file: IO[bytes]) -> None:
        while chunk := content.read(_CHUNK_BYTES):
            self._bytes += len(chunk)
            self._check_bytes(0)
            file.write(chunk)

    def _unpack_inner(self, archive: Path, path: PurePosixPath, depth: int) -> None:
        """Replace an archive by a folder of its files."""
        with archive.open("rb") as file:
            archive.unlink()
            archive.mkdir()
            try:
                self.unpack(file, path, path, depth + 1)
            except Unreadable as error:
                self._skip(path, error.reason)

    def _check_bytes(self, further: int) -> None:
        if self._bytes + further > self._max_bytes:
            raise Unreadable(f"unpacks to more than {self._max_bytes / 1e6:.0f} MB, which is far more than its size")

    def _skip(self, path: PurePosixPath, reason: str) -> None:
        self.skipped.append(SkippedPath("" if path == PurePosixPath() else str(path), reason))
