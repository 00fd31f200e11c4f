"""Parse search results in XML: Atom, RSS 2.0 and RSS 1.0."""

from typing import TYPE_CHECKING

from tenure.sources.search.provider import SearchResult, build_result

if TYPE_CHECKING:
    from lxml.etree import _Element

_SNIPPET_TAGS = ("summary", "description", "content", "encoded")
_DATE_TAGS = ("published", "pubdate", "date", "issued", "updated")


def parse_xml(body: bytes) -> "_Element":
    """Return the root of an XML document.

    Raises:
        ValueError: the text is no XML, or has a document type, which could define entities: a response is untrusted.
    """
    # Imported when needed, here and below: a worker starts without parsers.
    from tenure.sources.document import zip_package

    try:
        root = zip_package.parse_xml(body)
    except SyntaxError as error:
        raise ValueError("no XML that can be trusted") from error
    if root.getroottree().docinfo.doctype:
        raise ValueError("no XML that can be trusted")
    return root


def read_entries(root: "_Element") -> list[SearchResult]:
    """Return the entries of a feed, in order."""
    from tenure.sources.parsers.formats.feed import find_text, find_url, iterate_entries

    return [
        build_result(
            find_url(entry),
            find_text(entry, ("title",)),
            find_text(entry, _SNIPPET_TAGS),
            find_text(entry, _DATE_TAGS),
        )
        for entry in iterate_entries(root)
    ]
