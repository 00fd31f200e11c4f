"""Check documents that are ZIP packages before they are decompressed, and parse what they have in common."""

import io
import re
import zipfile
import zlib
from datetime import datetime
from typing import Final, Protocol

from lxml import etree

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace

_OLE: Final = b"\xd0\xcf\x11\xe0"
_ENCRYPTED_PACKAGE: Final = "EncryptedPackage".encode("utf-16-le")
_MAX_COMPRESSION_FACTOR: Final = 10
"""Maximum ratio of the decompressed size of a package to the size limit of a file."""
_MAX_MEMBERS: Final = 20_000
_RELATIONS: Final = "_rels/.rels"
_STRICT: Final = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")  # ".../ooxml/wordprocessingml/main".
_TRANSITIONAL: Final = rb"http://schemas.openxmlformats.org/\1/2006/"
_CONTENT_TYPES: Final = "[Content_Types].xml"
# Main parts of templates, slide shows and documents with macros, such as
# "application/vnd.ms-word.document.macroEnabled.main+xml" and "…wordprocessingml.template.main+xml".
_WORD: Final = re.compile(
    rb"application/(?:vnd\.ms-word\.(?:document|template)\.macroEnabled(?:Template)?"
    rb"|vnd\.openxmlformats-officedocument\.wordprocessingml\.template)\.main\+xml"
)
_SLIDES: Final = re.compile(
    rb"application/(?:vnd\.ms-powerpoint\.(?:slideshow|template)\.macroEnabled"
    rb"|vnd\.openxmlformats-officedocument\.presentationml\.(?:slideshow|template))\.main\+xml"
)
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_MANIFEST: Final = "META-INF/manifest.xml"

PACKAGE_ERRORS: Final = (
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
"""Exceptions that zipfile, zlib, lxml (whose XML errors are SyntaxErrors) and libraries above them raise for damage."""


def check_package(data: bytes, limit_bytes: int, old_format: str) -> None:
    """Reject unsafe packages; zipfile never decompresses more than the package declares.

    Raises:
        Unreadable: the package is encrypted, in an old format, or decompresses to far more than the limit.
        zipfile.BadZipFile: the content is no package.
    """
    if data.startswith(_OLE):
        raise Unreadable("is encrypted" if _ENCRYPTED_PACKAGE in data else f"is in {old_format}")
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = package.infolist()
        if any(part.flag_bits & 1 for part in parts):
            raise Unreadable("is encrypted")
    if sum(part.file_size for part in parts) > limit_bytes * _MAX_COMPRESSION_FACTOR or len(parts) > _MAX_MEMBERS:
        raise Unreadable("unpacks to far more than a document")
    # OpenDocument files declare the encryption of each member.
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        if _MANIFEST in package.namelist() and b"encryption-data" in package.read(_MANIFEST):
            raise Unreadable("is encrypted")


def to_plain_package(data: bytes) -> bytes:
    """Return an Office package in the form that libraries know: transitional namespaces, and no template or macros."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        names = package.namelist()
        is_strict = _RELATIONS in names and _STRICT.search(package.read(_RELATIONS))
        types = package.read(_CONTENT_TYPES) if _CONTENT_TYPES in names else b""
        plain = _WORD.sub(f"{_OFFICE}wordprocessingml.document.main+xml".encode(), types)
        plain = _SLIDES.sub(f"{_OFFICE}presentationml.presentation.main+xml".encode(), plain)
        if plain == types and not is_strict:
            return data
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as converted:
            for part in package.infolist():
                content = plain if part.filename == _CONTENT_TYPES else package.read(part)
                is_xml = is_strict and part.filename.endswith((".xml", ".rels"))
                converted.writestr(part, _STRICT.sub(_TRANSITIONAL, content) if is_xml else content)
        return buffer.getvalue()


class CoreProperties(Protocol):
    """Metadata of an Office document, as the parsing libraries return it."""

    title: str
    author: str
    created: datetime | None


def build_document(form: NormalFormWriter, properties: CoreProperties, pages: tuple[int, ...] = ()) -> Document:
    """Return an Office document with its metadata."""
    created = properties.created
    return Document(
        title=collapse_whitespace(properties.title) or form.first_heading,
        text=form.text,
        kind="prose",
        author=collapse_whitespace(properties.author),
        published=created.date().isoformat() if created else "",
        pages=pages,
    )


def parse_xml(data: bytes | str, *, recover: bool = False) -> etree._Element:
    """Parse XML without entities, which can expand exponentially or read files, and without network access.

    An encoding declaration in decoded text is ignored; with `recover`, errors are skipped if possible.

    Raises:
        SyntaxError: the text is no XML.
    """
    encoding = "utf-8" if isinstance(data, str) else None
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, recover=recover, encoding=encoding
    )
    root = etree.fromstring(data.encode() if isinstance(data, str) else data, parser)
    if root is None:
        raise SyntaxError("no element")
    return root
