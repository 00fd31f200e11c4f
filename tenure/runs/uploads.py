"""Keep uploaded documents in the home, in a folder for each corpus that consists of them."""

import os
import re
import shutil
import unicodedata
from contextlib import suppress
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import IO, Final

from tenure.document_roots import ROOTS_FILE
from tenure.ownership import locate_owner_home
from tenure.runs.errors import InvalidRequest, TenureError, add_field
from tenure.runs.run_ids import DEFAULT_CORPUS, check_corpus, slugify
from tenure.settings.home import HomeSettings

MAX_UPLOAD_FILES: Final = 1_000
MAX_FILE_BYTES: Final = 200_000_000
"""Above the size of which the parsers read any file that is no table or recording."""
MAX_UPLOAD_BYTES: Final = 1_000_000_000
"""As much as one archive may contain."""

_MAX_DEPTH: Final = 8
"""Folders of a name that are kept, from its end."""
_MAX_PART_BYTES: Final = 200
"""Bytes of a part of a path; file systems take 255."""
_MAX_STEM: Final = 24
"""Characters of a file's name in the name of a corpus."""


def make_safe_path(name: str) -> PurePosixPath | None:
    """Return the path below a folder for the name that a client gives a file, or None for a hidden or nameless one.

    `../../etc/passwd` becomes `etc/passwd`, and marks that are not shown or turn the direction of writing become `_`.
    """
    parts = [part.strip() for part in re.split(r"[/\\]", unicodedata.normalize("NFC", name))]
    kept = [part for part in parts if part not in ("", ".", "..")][-_MAX_DEPTH:]
    if not kept or any(part.startswith(".") for part in kept):
        return None
    return PurePosixPath(*map(_clean, kept))


def _clean(part: str) -> str:
    visible = "".join("_" if unicodedata.category(letter)[0] == "C" else letter for letter in part)
    if visible == ROOTS_FILE:  # a folder with a file of this name is a home
        return f"_{visible}"
    suffix = PurePosixPath(visible).suffix.encode()[:20]
    stem = visible.encode()[: _MAX_PART_BYTES - len(suffix)] if len(visible.encode()) > _MAX_PART_BYTES else b""
    return (stem + suffix).decode(errors="ignore") if stem else visible


def find_upload(settings: HomeSettings, corpus: str) -> Path | None:
    """Return the folder with the uploaded documents of a corpus, or None if it has none."""
    folder = _locate_uploads(settings) / corpus
    return folder if folder.name == corpus and folder.is_dir() else None


def is_upload(settings: HomeSettings, path: Path) -> bool:
    """Return whether a path leads to uploaded documents."""
    return path.is_relative_to(_locate_uploads(settings))


def list_uploads(settings: HomeSettings) -> tuple[str, ...]:
    """Return the names of the corpora with uploaded documents, sorted."""
    folder = _locate_uploads(settings)
    return tuple(sorted(path.name for path in folder.iterdir() if path.name[0] != ".")) if folder.is_dir() else ()


def delete_upload(settings: HomeSettings, corpus: str) -> bool:
    """Delete the uploaded documents of a corpus; return False if it has none.

    Raises:
        TenureError: they cannot be deleted.
    """
    folder = find_upload(settings, corpus)
    if folder is None:
        return False
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise TenureError(f"the uploaded documents in {folder} cannot be deleted ({error.strerror})") from error
    return True


class Upload:
    """Documents that arrive; nothing of them is in a corpus before all have arrived.

    Attributes:
        files: paths of the documents in the corpus.
        left_out: names of hidden files, which are not stored, as they are not read from folders.
    """

    def __init__(self, settings: HomeSettings) -> None:
        self.files: list[str] = []
        self.left_out: list[str] = []
        self._uploads = _locate_uploads(settings)
        self._draft = self._uploads / f".{token_hex(8)}"
        self._file: IO[bytes] | None = None
        self._size = self._total = 0

    def open(self, name: str) -> None:
        """Start a document with the name that the client gives it.

        Raises:
            InvalidRequest: there are too many documents.
            TenureError: it cannot be stored.
        """
        path = make_safe_path(name)
        if path is None:
            self.left_out += [name[:200]] if name else []  # a form without a file sends an empty name
            return
        if len(self.files) == MAX_UPLOAD_FILES:
            raise InvalidRequest(f"an upload has at most {MAX_UPLOAD_FILES:,} files: send an archive instead", "files")
        taken = {known.casefold() for known in self.files}
        unique, number = path, 2
        while str(unique).casefold() in taken:
            unique, number = path.with_stem(f"{path.stem}-{number}"), number + 1
        try:
            for folder in (self._uploads.parent, self._uploads, self._draft):
                folder.mkdir(mode=0o700, exist_ok=True)
            target = self._draft / unique
            target.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        except OSError as error:
            raise self._explain(error) from error
        self.files.append(str(unique))
        self._size = 0

    def write(self, data: bytes) -> None:
        """Append to the open document.

        Raises:
            InvalidRequest: it is too large.
            TenureError: it cannot be stored.
        """
        if self._file is None:
            return
        self._size += len(data)
        self._total += len(data)
        if self._size > MAX_FILE_BYTES:
            raise InvalidRequest(f"{self.files[-1]} has more than {MAX_FILE_BYTES // 10**6} MB", "files")
        if self._total > MAX_UPLOAD_BYTES:
            raise InvalidRequest(f"an upload has at most {MAX_UPLOAD_BYTES // 10**6:,} MB: send it in parts", "files")
        try:
            self._file.write(data)
        except OSError as error:
            raise self._explain(error) from error

    def close(self) -> None:
        """End the open document.

        Raises:
            TenureError: it cannot be stored.
        """
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                raise self._explain(error) from error

    def add_text(self, text: str) -> None:
        """Add a text as a document that is named after its first words."""
        self.open(f"{slugify(text[:200])}.md")
        self.write(text.encode(errors="replace"))
        self.close()

    def publish(self, corpus: str = "") -> str:
        """Move the documents into a corpus, which gets a name if it has none; return the name.

        Raises:
            InvalidRequest: there are no documents, or the name does not fit.
            TenureError: they cannot be stored.
        """
        if not self.files:
            raise InvalidRequest("choose at least one file that is not hidden", "files")
        with add_field("corpus"):
            made = f"{slugify(PurePosixPath(self.files[0]).stem, _MAX_STEM)}-{token_hex(3)}"
            name = check_corpus(corpus or made)
        if name == DEFAULT_CORPUS:
            raise InvalidRequest(f"{DEFAULT_CORPUS} is the manual of Tenure: choose another name", "corpus")
        try:
            for path in self.files:
                target = self._uploads / name / path
                target.parent.mkdir(parents=True, exist_ok=True)
                (self._draft / path).replace(target)
        except OSError as error:
            raise self._explain(error) from error
        self.discard()
        return name

    def discard(self) -> None:
        """Delete what has not been published."""
        if self._file is not None:
            with suppress(OSError):  # of a full disk, which the error before has named
                self._file.close()
        shutil.rmtree(self._draft, ignore_errors=True)

    def _explain(self, error: OSError) -> TenureError:
        return TenureError(f"the files cannot be stored in {self._uploads} ({error.strerror}): make room for them")


def _locate_uploads(settings: HomeSettings) -> Path:
    return locate_owner_home(settings.home.absolute(), settings.owner) / "uploads"
