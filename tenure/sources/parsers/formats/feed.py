"""Parse RSS and Atom feeds: entries with date, author and URL, in the order of the feed."""

import re
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
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
_DATE_TAGS = ("published", "pubDate", "date", "issued", "updated", "modified")
_CONTENT_TAGS = ("encoded", "content", "description", "summary")
_MARKUP = re.compile(r"<[a-zA-Z/!]|&[a-z#0-9]+;")


def parse_feed(text: str) -> Document:
    """Parse a feed."""
    try:
        root = parse_xml(text, recover=True)
    except SyntaxError as error:
        raise Unreadable("is not a valid feed") from error
    entries = [*root.iter("{*}item", "{*}entry")][:_MAX_ENTRIES]
    channel = next(root.iter("{*}channel"), root)
    form = NormalFormWriter()
    title = find_text(channel, ("title",))
    form.add_heading(1, title)
    form.add_paragraph(find_text(channel, ("description", "subtitle")))
    for entry in entries:
        _write_entry(form, entry)
    return Document(
        title=title,
        text=form.text,
        kind="prose",
        author=find_text(channel, ("author", "creator", "managingEditor")),
        published=max(map(_find_date, entries), default=""),
    )


def _write_entry(form: NormalFormWriter, entry: _Element) -> None:
    form.add_heading(2, find_text(entry, ("title",)) or "Entry")
    about = (_find_date(entry), find_text(entry, ("creator", "author")), find_url(entry))
    form.add_paragraph(", ".join(filter(None, about)))
    contents = [child for name in _CONTENT_TAGS for child in entry.iterchildren(f"{{*}}{name}")]
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


def find_text(element: _Element, names: Sequence[str]) -> str:
    """Return the text of the first child with one of the names; for a person, the name."""
    for name in names:
        for child in element.iterchildren(f"{{*}}{name}"):
            named = next(child.iterchildren("{*}name"), child)
            if words := collapse_whitespace("".join(named.itertext())):
                return _strip_markup(words)
    return ""


def _strip_markup(words: str) -> str:
    return collapse_whitespace(parse_html_tree(f"<p>{words}</p>").text_content()) if _MARKUP.search(words) else words


def _find_date(entry: _Element) -> str:
    said = find_text(entry, _DATE_TAGS)
    try:
        return parsedate_to_datetime(said).date().isoformat()
    except ValueError:
        return normalize_date(said)


def find_url(entry: _Element) -> str:
    """Return the URL of an entry: the link to its page, in Atom an attribute, else another link or its identifier."""
    links = [*entry.iterchildren("{*}link")]
    own = [link for link in links if link.get("rel", "alternate") == "alternate"]
    urls = [collapse_whitespace(link.get("href") or link.text or "") for link in own or links]
    identifier = find_text(entry, ("guid", "id"))
    return next(filter(None, urls), identifier if identifier.startswith("http") else "")
