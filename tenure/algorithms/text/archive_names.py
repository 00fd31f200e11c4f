"""Recognize archives and mailboxes by their names."""

from pathlib import PurePath
from typing import Final

TAR_SUFFIXES: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_OTHER_SUFFIXES: Final = (".zip", ".mbox", ".gz", ".bz2", ".xz")
_MAILBOX: Final = "mbox"
"""Name of a mailbox in a folder of Apple Mail."""


def is_archive(path: PurePath) -> bool:
    """Return whether a name is that of an archive or a mailbox."""
    name = path.name.lower()
    return name.endswith((*TAR_SUFFIXES, *_OTHER_SUFFIXES)) or name == _MAILBOX
