"""Lists of results in XML: Atom, RSS 2.0 and RSS 1.0, as search engines and arXiv give them.

No entity is ever expanded and no document type read: an answer is somebody else's, and XML can be a bomb.
"""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from tenure.sources.search.base import Found, found

_SNIPPETS = ("summary", "description", "content", "encoded")
_DATES = ("published", "pubdate", "date", "issued", "updated")


def document(body: bytes) -> Element:
    """Return the root of an XML document.

    Raises:
        ValueError: it is none, or one with entities or a document type.
    """
    try:
        root: Element = fromstring(body, forbid_dtd=True)
    except (ParseError, DefusedXmlException, LookupError) as error:
        raise ValueError("no XML that can be trusted") from error
    return root


def entries(root: Element) -> list[Found]:
    """Return the entries of a feed, in order."""
    return [_found(node) for node in root.iter() if local(node) in ("entry", "item")]


def local(node: Element) -> str:
    """Return the name of an element in lower case, without its namespace."""
    return str(node.tag).rpartition("}")[2].lower()


def _found(entry: Element) -> Found:
    children = list(entry)
    return found(
        next(_links(children), ""),
        _first(children, ("title",)),
        _first(children, _SNIPPETS),
        _first(children, _DATES),
    )


def _links(children: list[Element]) -> Iterator[str]:
    """Yield where an entry leads, the best first: the page itself, then whatever names it."""
    links = [node for node in children if local(node) == "link"]
    yield from (
        node.get("href", "") for node in links if node.get("rel", "alternate") == "alternate" and node.get("href")
    )
    yield from (node.text.strip() for node in links if node.text and node.text.strip())
    named = [node for node in children if local(node) in ("guid", "id")]
    yield from (node.text.strip() for node in named if node.text and node.text.strip().startswith("http"))


def _first(children: list[Element], names: tuple[str, ...]) -> str:
    """Return the words of the first element of these names, in the order of the names."""
    said = {local(node): "".join(node.itertext()).strip() for node in reversed(children)}
    return next((said[name] for name in names if said.get(name)), "")
