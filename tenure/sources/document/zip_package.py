"""Documents that are zip packages: checks before a parser unpacks one, and what all of them have in common."""

import io
import zipfile
import zlib
from datetime import datetime
from typing import Final, Protocol

from lxml import etree

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalForm, one_line

_OLE: Final = b"\xd0\xcf\x11\xe0"
_ENCRYPTED_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
_UNPACKED_FACTOR: Final = 10
"""How much larger than a file may be its package may be when it is unpacked."""
_PARTS: Final = 20_000
"""Files in a package."""

DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    LookupError,
    ValueError,
    AttributeError,
    TypeError,
    SyntaxError,
)
"""What zipfile, zlib, lxml (whose XML errors are SyntaxErrors) and the libraries above them make of damage."""


def check_package(data: bytes, limit_bytes: int, old_format: str) -> None:
    """Refuse what no parser should open; zipfile never unpacks more than what a package says here.

    Args:
        data: The package.
        limit_bytes: Size that a file may have.
        old_format: What a file of the binary formats before packages is called.

    Raises:
        Unreadable: if it is encrypted, of an old format, or unpacks to far more than the limit.
        zipfile.BadZipFile: if it is no package.
    """
    if data.startswith(_OLE):
        raise Unreadable("is encrypted" if _ENCRYPTED_PACKAGE in data else f"is in {old_format}")
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = package.infolist()
    if sum(part.file_size for part in parts) > limit_bytes * _UNPACKED_FACTOR or len(parts) > _PARTS:
        raise Unreadable("unpacks to far more than a document")


class CoreProperties(Protocol):
    """What an Office document says of itself, as the libraries that read one hand it on."""

    title: str
    author: str
    created: datetime | None


def written(form: NormalForm, properties: CoreProperties, pages: tuple[int, ...] = ()) -> Document:
    """Return an Office document that was read, with what it says of itself.

    Args:
        form: Its words.
        properties: Its core properties.
        pages: Where each of its pages begins; empty for one without pages.
    """
    created = properties.created
    return Document(
        title=one_line(properties.title) or form.first_heading,
        text=form.text,
        kind="prose",
        author=one_line(properties.author),
        published=created.date().isoformat() if created else "",
        pages=pages,
    )


def xml(data: bytes | str, *, recover: bool = False) -> etree._Element:
    """Parse XML without entities, which can blow up or read files, and without the network.

    Args:
        data: The XML; text that was decoded is in no encoding any more, whatever it declares.
        recover: Whether damage is passed over where that is possible.

    Raises:
        SyntaxError: if it is no XML.
    """
    encoding = "utf-8" if isinstance(data, str) else None
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, recover=recover, encoding=encoding
    )
    root = etree.fromstring(data.encode() if isinstance(data, str) else data, parser)
    if root is None:
        raise SyntaxError("no element")
    return root
