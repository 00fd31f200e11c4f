"""Define places in documents that have other parts than pages."""

from typing import NamedTuple


class DocumentPlace(NamedTuple):
    """Part of a document: a moment of a recording, or an attachment of a message."""

    start: int
    """Offset of its first character in the text of the document."""
    label: str
    """Words for readers, as in `00:12:31` or `attachment plan.docx`; empty for the text between two such parts."""
