"""Define places in documents that have other parts than pages, and recognize archives, whose files are documents."""

from typing import Final, NamedTuple

TAR_SUFFIXES: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_OTHER_SUFFIXES: Final = (".zip", ".mbox", ".gz", ".bz2", ".xz")
_MAILBOX: Final = "mbox"
"""Name of a mailbox in a folder of Apple Mail."""


class DocumentPlace(NamedTuple):
    """Part of a document: a moment of a recording, or an attachment of a message."""

    start: int
    """Offset of its first character in the text of the document."""
    label: str
    """Words for readers, as in `00:12:31` or `attachment plan.docx`; empty for the text between two such parts."""


def is_archive(path: str) -> bool:
    """Return whether a path is that of an archive or a mailbox, by its name."""
    name = path.rpartition("/")[2].lower()
    return name.endswith((*TAR_SUFFIXES, *_OTHER_SUFFIXES)) or name == _MAILBOX
