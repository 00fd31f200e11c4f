"""Parse search results in XML: Atom, RSS 2.0 and RSS 1.0.

Entities and document types are rejected, since a response is untrusted and XML can be a decompression bomb.
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from tenure.sources.search.provider import SearchResult, build_result

_SNIPPET_TAGS = ("summary", "description", "content", "encoded")
_DATE_TAGS = ("published", "pubdate", "date", "issued", "updated")


def parse_xml(body: bytes) -> Element:
    """Return the root of an XML document.

    Raises:
        ValueError: the text is no XML, or has entities or a document type.
    """
    try:
        root: Element = fromstring(body, forbid_dtd=True)
    except (ParseError, DefusedXmlException, LookupError) as error:
        raise ValueError("no XML that can be trusted") from error
    return root


def read_entries(root: Element) -> list[SearchResult]:
    """Return the entries of a feed, in order."""
    return [_build_entry(node) for node in root.iter() if get_local_name(node) in ("entry", "item")]


def get_local_name(node: Element) -> str:
    """Return the name of an element in lower case, without its namespace."""
    return str(node.tag).rpartition("}")[2].lower()


def _build_entry(entry: Element) -> SearchResult:
    children = list(entry)
    return build_result(
        next(_iterate_links(children), ""),
        _find_text(children, ("title",)),
        _find_text(children, _SNIPPET_TAGS),
        _find_text(children, _DATE_TAGS),
    )


def _iterate_links(children: list[Element]) -> Iterator[str]:
    """Yield the URLs of an entry, best first: links to the page, then identifiers."""
    links = [node for node in children if get_local_name(node) == "link"]
    yield from (
        node.get("href", "") for node in links if node.get("rel", "alternate") == "alternate" and node.get("href")
    )
    yield from (node.text.strip() for node in links if node.text and node.text.strip())
    named = [node for node in children if get_local_name(node) in ("guid", "id")]
    yield from (node.text.strip() for node in named if node.text and node.text.strip().startswith("http"))


def _find_text(children: list[Element], names: tuple[str, ...]) -> str:
    """Return the text of the first element with one of the names, in the order of the names."""
    said = {get_local_name(node): "".join(node.itertext()).strip() for node in reversed(children)}
    return next((said[name] for name in names if said.get(name)), "")
