"""RSS and Atom to the normal form: a feed's entries with date, author and address, as they stand in it."""

import re
from collections.abc import Sequence
from email.utils import parsedate_to_datetime

from lxml.etree import _Element, tostring

from tenure.algorithms.text.dates import iso_date
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalForm, one_line
from tenure.sources.document.zip_package import xml
from tenure.sources.parsers.html_blocks import write_blocks
from tenure.sources.parsers.html_tree import drop_hidden, html_tree

_ENTRIES = 1_000
"""Entries that are read."""
_DATES = ("published", "pubDate", "date", "issued", "updated", "modified")
_CONTENTS = ("encoded", "content", "description", "summary")
_MARKUP = re.compile(r"<[a-zA-Z/!]|&[a-z#0-9]+;")


def parse_feed(text: str) -> Document:
    """Read a feed.

    Raises:
        Unreadable: if it is none.
    """
    try:
        root = xml(text, recover=True)
    except SyntaxError as error:
        raise Unreadable("is not a valid feed") from error
    entries = [*root.iter("{*}item", "{*}entry")][:_ENTRIES]
    channel = next(root.iter("{*}channel"), root)
    form = NormalForm()
    title = _said(channel, ("title",))
    form.heading(1, title)
    form.paragraph(_said(channel, ("description", "subtitle")))
    for entry in entries:
        _write(form, entry)
    return Document(
        title=title,
        text=form.text,
        kind="prose",
        author=_said(channel, ("author", "creator", "managingEditor")),
        published=max(map(_date, entries), default=""),
    )


def _write(form: NormalForm, entry: _Element) -> None:
    form.heading(2, _said(entry, ("title",)) or "Entry")
    about = (_date(entry), _said(entry, ("creator", "author")), _link(entry))
    form.paragraph(", ".join(filter(None, about)))
    contents = [child for name in _CONTENTS for child in entry.iterchildren(f"{{*}}{name}")]
    if contents:
        _content(form, contents[0])


def _content(form: NormalForm, element: _Element) -> None:
    """Write what an entry says: plain text, markup as text, or markup in place."""
    inside = "".join(tostring(child, encoding="unicode") for child in element) if len(element) else ""
    words = inside or (element.text or "")
    if not inside and not _MARKUP.search(words):
        form.paragraph(words)
    elif words.strip():
        tree = html_tree(f"<div>{words}</div>")
        drop_hidden(tree)
        write_blocks(form, tree)


def _said(element: _Element, names: Sequence[str]) -> str:
    """Return the words of the first child that has one of the names; a person is told by the name."""
    for name in names:
        for child in element.iterchildren(f"{{*}}{name}"):
            named = next(child.iterchildren("{*}name"), child)
            if words := one_line("".join(named.itertext())):
                return _plain(words)
    return ""


def _plain(words: str) -> str:
    """Return the words of a title that was written as markup."""
    return one_line(html_tree(f"<p>{words}</p>").text_content()) if _MARKUP.search(words) else words


def _date(entry: _Element) -> str:
    said = _said(entry, _DATES)
    try:
        return parsedate_to_datetime(said).date().isoformat()
    except ValueError:
        return iso_date(said)


def _link(entry: _Element) -> str:
    """Return the address of an entry: Atom has it in an attribute, and may have several."""
    links = [*entry.iterchildren("{*}link")]
    own = [link for link in links if link.get("rel", "alternate") == "alternate"]
    return next((one_line(link.get("href") or link.text or "") for link in own or links), "")
