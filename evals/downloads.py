"""Files of public data sets: a path that the person names, or a download that is checked by its digest."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import httpx

_TIMEOUT_SECONDS = 60.0


class ChangedDataFile(Exception):
    """A downloaded file is not the one that an evaluation was written for."""


@dataclass(frozen=True)
class DataFile:
    """A file of a public data set at one commit of a repository."""

    url: str
    blob: str
    """Git's name of its content: SHA-1 of a header with the size in bytes, and of the bytes."""

    def load(self, folder: Path) -> Path:
        """Return its path in a folder, after a download if it is not there.

        Raises:
            ChangedDataFile: the bytes are not those of the commit.
            httpx.HTTPError: it cannot be downloaded.
        """
        path = folder / self.url.rsplit("/", 1)[-1]
        if path.exists():
            return path
        reply = httpx.get(self.url, timeout=_TIMEOUT_SECONDS, follow_redirects=True).raise_for_status()
        if compute_blob_name(reply.content) != self.blob:
            raise ChangedDataFile(f"{self.url} is not the file with the git blob {self.blob}; nothing is stored")
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(reply.content)
        return path


def compute_blob_name(content: bytes) -> str:
    """Return git's name of a file's content."""
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
