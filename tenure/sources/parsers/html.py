"""HTML to the normal form: the page's main text as trafilatura finds it, and what the page says of itself.

What a browser would not show is taken out first; see `tenure.sources.parsers.html_tree`.
"""

import logging
import re
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

import trafilatura
from lxml import etree
from lxml.html import HtmlElement

from tenure.algorithms.text.urls import InvalidAddress, host, resolved
from tenure.sources.document.document import NO_TEXT, Document, Page, Unreadable
from tenure.sources.document.normal_form import NormalForm, one_line
from tenure.sources.parsers.html_blocks import write_blocks
from tenure.sources.parsers.html_tree import drop_hidden, html_tree
from tenure.sources.parsers.markdown import parse_markdown

_VISIBLE: Final = 50_000
"""Characters of all visible words that are handed on."""

_WORDS = etree.XPath("//body//text()[not(ancestor::script or ancestor::style or ancestor::noscript)]")
_LINKS = etree.XPath(
    "//link[contains(concat(' ', @rel, ' '), ' canonical ')]/@href | //meta[@property='og:url']/@content"
)
_LANGUAGES = etree.XPath(
    "/html/@lang | /html/@*[name()='xml:lang'] | //meta[@property='og:locale']/@content"
    " | //meta[translate(@http-equiv, 'CONTELAGU', 'contelagu')='content-language']/@content"
)
_TIERS = etree.XPath("//meta[@property='article:content_tier' or @name='article:content_tier']/@content")
_DATA = etree.XPath("//script[@type='application/ld+json']/text()")
_NOT_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*"?\s*false', re.IGNORECASE)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_OTHER_FACE = re.compile(r"^(?:www|m|mobile|amp)\.")

# A library's log must not reach the user's terminal through Python's handler of last resort.
logging.getLogger("trafilatura").addHandler(logging.NullHandler())
logging.getLogger("htmldate").addHandler(logging.NullHandler())


def parse_html(markup: str) -> Document:
    """Read a page from a file.

    Raises:
        Unreadable: if the page has no words.
    """
    return parse_web_page(markup, "").document


def parse_web_page(markup: str, address: str) -> Page:
    """Read a page; where no main text stands out, all its words are taken.

    Args:
        markup: The page.
        address: Where it was found; empty for a file.

    Raises:
        Unreadable: if the page has no words, or is too large or too deep to be read.
    """
    tree = html_tree(markup)
    locked = bool(_NOT_FREE.search(" ".join(_DATA(tree)))) or any(tier != "free" for tier in _TIERS(tree))
    hidden = drop_hidden(tree)
    visible = one_line(" ".join(_WORDS(tree)))
    document, site = _main(tree)
    if not document.text:
        document = replace(document, text=_all_words(tree))
    if not document.text:
        raise Unreadable(NO_TEXT)
    return Page(
        document=document,
        address=_canonical(_LINKS(tree), address),
        language=_language(_LANGUAGES(tree)),
        site=site or urlsplit(address).netloc.removeprefix("www."),
        visible=visible[:_VISIBLE],
        hidden=hidden,
        locked=locked,
    )


def _main(tree: HtmlElement) -> tuple[Document, str]:
    """Return the main text, empty where none stands out, and the name of the site."""
    found = trafilatura.bare_extraction(
        tree,
        include_formatting=True,
        include_comments=False,
        favor_recall=True,
        with_metadata=True,
        date_extraction_params={"extensive_search": False, "original_date": True},
    )
    if not isinstance(found, trafilatura.settings.Document):
        return Document(title=one_line(tree.findtext(".//title") or ""), text="", kind="prose"), ""
    read = parse_markdown(found.text or "")
    title = found.title or read.title or one_line(tree.findtext(".//title") or "")
    document = replace(read, title=title, author=found.author or "", published=found.date or "")
    return document, found.sitename or ""


def _all_words(tree: HtmlElement) -> str:
    form = NormalForm()
    write_blocks(form, tree)
    return form.text


def _canonical(links: list[str], address: str) -> str:
    """Return the first link of the address's own host; a page cannot pass itself off as another site's."""
    for link in links:
        try:
            own = resolved(address, link)
            if _face(own) == _face(address):
                return own
        except InvalidAddress:
            continue
    return address


def _face(address: str) -> str:
    """Return the host of an address without what only tells faces of one site apart."""
    return _OTHER_FACE.sub("", host(address))


def _language(tags: list[str]) -> str:
    return next((tag.strip().replace("_", "-") for tag in tags if _LANGUAGE.fullmatch(tag.strip())), "")
