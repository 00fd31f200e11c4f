"""Parse RSS and Atom feeds: entries with date, author and URL, in the order of the feed."""

import re
from collections.abc import Iterator, Sequence
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Final

from lxml.etree import _Element, tostring

from tenure.algorithms.text.dates import normalize_date
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.document.zip_package import parse_xml
from tenure.sources.parsers.html_blocks import write_blocks
from tenure.sources.parsers.html_tree import parse_html_tree, remove_hidden
from tenure.sources.parsers.registry import Format

FEED: Final = Format(
    parser="parse_feed",
    description="RSS and Atom feeds: date, author, URL and content of each entry",
    suffixes=(".rss", ".atom", ".rdf"),
    media_types=("application/rss+xml", "application/atom+xml", "application/rdf+xml"),
)

_MAX_ENTRIES = 1_000
_DATE_TAGS = ("published", "pubdate", "date", "issued", "updated", "modified")
_CONTENT_TAGS = ("encoded", "content", "description", "summary")
# "<p>" and "&amp;", but not "a < b & c".
_MARKUP = re.compile(r"<[a-zA-Z/!]|&[a-z#0-9]+;")


def parse_feed(text: str) -> Document:
    """Parse a feed of RSS or Atom: its title and description, then a section for each of the first 1,000 entries."""
    try:
        root = parse_xml(text, recover=True)
    except SyntaxError as error:
        raise Unreadable("is not a valid feed") from error
    entries = [*islice(iterate_entries(root), _MAX_ENTRIES)]
    channel = next(root.iter("{*}channel"), root)
    form = NormalFormWriter()
    title = _find_words(channel, ("title",))
    form.add_heading(1, title)
    form.add_paragraph(_find_words(channel, ("description", "subtitle")))
    for entry in entries:
        _write_entry(form, entry)
    return Document(
        title=title,
        text=form.text,
        kind="prose",
        author=_find_words(channel, ("author", "creator", "managingeditor")),
        published=max(map(_find_date, entries), default=""),
    )


def _write_entry(form: NormalFormWriter, entry: _Element) -> None:
    form.add_heading(2, _find_words(entry, ("title",)) or "Entry")
    about = (_find_date(entry), _find_words(entry, ("creator", "author")), find_url(entry))
    form.add_paragraph(", ".join(filter(None, about)))
    contents = [child for name in _CONTENT_TAGS for child in _iterate_children(entry, name)]
    if contents:
        _write_content(form, contents[0])


def _write_content(form: NormalFormWriter, element: _Element) -> None:
    """Write the content of an entry: plain text, escaped markup, or inline markup."""
    inside = "".join(tostring(child, encoding="unicode") for child in element) if len(element) else ""
    words = inside or (element.text or "")
    if not inside and not _MARKUP.search(words):
        form.add_paragraph(words)
    elif words.strip():
        tree = parse_html_tree(f"<div>{words}</div>")
        remove_hidden(tree)
        write_blocks(form, tree)


def iterate_entries(root: _Element) -> Iterator[_Element]:
    """Yield the entries of a feed, in order."""
    return (node for node in root.iter("*") if _get_name(node) in ("item", "entry"))


def find_text(element: _Element, names: Sequence[str]) -> str:
    """Return the text of the first child with one of the names, with escaped markup; for a person, the name."""
    children = (child for name in names for child in _iterate_children(element, name))
    texts = ("".join(next(_iterate_children(child, "name"), child).itertext()).strip() for child in children)
    return next(filter(None, texts), "")


def _find_words(element: _Element, names: Sequence[str]) -> str:
    """Return the text of the first child with one of the names, without markup."""
    text = find_text(element, names)
    return collapse_whitespace(parse_html_tree(f"<p>{text}</p>").text_content() if _MARKUP.search(text) else text)


def _iterate_children(element: _Element, name: str) -> Iterator[_Element]:
    return (child for child in element.iterchildren("*") if _get_name(child) == name)


def _get_name(element: _Element) -> str:
    """Return the name in lower case, without its namespace: some feeds write `Item` or `pubdate`.

    `QName` refuses the name of a damaged file, such as `dc:c:reator`.
    """
    return str(element.tag).rpartition("}")[2].lower()


def _find_date(entry: _Element) -> str:
    text = _find_words(entry, _DATE_TAGS)
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except ValueError:
        return normalize_date(text)


def find_url(entry: _Element) -> str:
    """Return the URL of an entry: the link to its page, else its identifier, else another link, such as to itself."""
    links = [(link.get("rel", "alternate"), link.get("href") or link.text) for link in _iterate_children(entry, "link")]
    alternate, others = ([url for rel, url in links if (rel == "alternate") == is_own] for is_own in (True, False))
    identifier = find_text(entry, ("guid", "id"))
    urls = (*alternate, identifier if identifier.startswith("http") else "", *others)
    return next(filter(None, (collapse_whitespace(url or "") for url in urls)), "")
