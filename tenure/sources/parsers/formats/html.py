"""Parse HTML: the main text as trafilatura extracts it, and the metadata of the page.

Elements that a browser would not show are removed first; see `tenure.sources.parsers.html_tree`.
"""

import logging
import re
from dataclasses import replace
from typing import Final

import trafilatura
from lxml import etree
from lxml.html import HtmlElement

from tenure.algorithms.text.urls import InvalidUrlError, extract_host, resolve_url
from tenure.contracts.evidence.corpora import NO_TEXT
from tenure.sources.document.document import Document, Unreadable, WebDocument
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.parsers.formats.markdown import parse_markdown
from tenure.sources.parsers.html_blocks import write_blocks
from tenure.sources.parsers.html_tree import parse_html_tree, remove_hidden
from tenure.sources.parsers.pictures.html_images import list_images, place_images
from tenure.sources.parsers.registry import Format

HTML: Final = Format(
    parser="parse_html",
    description="web pages: the main text and its pictures, without navigation, advertising and hidden text",
    suffixes=(".html", ".htm", ".xhtml"),
    media_types=("text/html", "application/xhtml+xml"),
)

_MAX_VISIBLE_LENGTH: Final = 50_000
"""Maximum length of the visible text, in characters."""

_WORDS = etree.XPath("//body//text()[not(ancestor::script or ancestor::style or ancestor::noscript)]")
_LINKS = etree.XPath(
    "//link[contains(concat(' ', @rel, ' '), ' canonical ')]/@href | //meta[@property='og:url']/@content"
)
_MAIN = etree.XPath("(//main | //*[@role='main'])[1]")
_CONTROLS = etree.XPath(".//nav | .//aside | .//footer | .//button | .//select | .//textarea")
_TIERS = etree.XPath("//meta[@property='article:content_tier' or @name='article:content_tier']/@content")
_DATA = etree.XPath("//script[@type='application/ld+json']/text()")
# '"isAccessibleForFree": false' of schema.org, the mark of a paywall.
_NOT_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*"?\s*false', re.IGNORECASE)
_HOST_PREFIX = re.compile(r"^(?:www|m|mobile|amp)\.")  # "www." of "www.example.org", "m." of "m.example.org".

# Without a handler, Python would write the log of the library to the terminal.
logging.getLogger("trafilatura").addHandler(logging.NullHandler())
logging.getLogger("htmldate").addHandler(logging.NullHandler())


def parse_html(markup: str) -> Document:
    """Parse a page from a file."""
    return parse_web_page(markup, "").document


def parse_web_page(markup: str, url: str, *, is_whole: bool = False) -> WebDocument:
    """Parse a page; without a recognizable main text, all its text is used.

    If `is_whole`, it is used in any case: the main text of a discussion, as of an issue, has no comments.

    Raises:
        Unreadable: the page has no text, or is too large or nested too deeply.
    """
    tree = parse_html_tree(markup)
    is_paywalled = bool(_NOT_FREE.search(" ".join(_DATA(tree)))) or any(tier != "free" for tier in _TIERS(tree))
    hidden = remove_hidden(tree)
    visible = collapse_whitespace(" ".join(_WORDS(tree)))
    images = [] if url else list_images(tree)  # pictures of pages on the web are not fetched
    document = _write_whole_text(tree) if is_whole else _extract_main_text(tree)
    if not document.text:
        form = NormalFormWriter()
        write_blocks(form, tree)
        document = replace(document, text=form.text)
    if not document.text:
        raise Unreadable(NO_TEXT)
    document = replace(document, pictures=tuple(place_images(images, document.text)))
    return WebDocument(
        document=document,
        url=_choose_canonical_url(_LINKS(tree), url),
        visible_text=visible[:_MAX_VISIBLE_LENGTH],
        hidden_text=hidden,
        is_paywalled=is_paywalled,
    )


def _write_whole_text(tree: HtmlElement) -> Document:
    """Return the text of the main element, or of the page, without what serves to leave or to operate it."""
    root, form = next(iter(_MAIN(tree)), tree), NormalFormWriter()
    for control in _CONTROLS(root):
        control.drop_tree()
    write_blocks(form, root)
    return Document(title=_find_title(tree), text=form.text, kind="prose")


def _find_title(tree: HtmlElement) -> str:
    return collapse_whitespace(tree.findtext(".//title") or "")


def _extract_main_text(tree: HtmlElement) -> Document:
    page = trafilatura.bare_extraction(
        tree,
        include_formatting=True,
        include_comments=False,
        favor_recall=True,
        with_metadata=True,
        date_extraction_params={"extensive_search": False, "original_date": True},
    )
    if not isinstance(page, trafilatura.settings.Document):
        return Document(title=_find_title(tree), text="", kind="prose")
    parsed = parse_markdown(page.text or "")
    tab = _find_title(tree)
    headings = [title for title in (page.title, parsed.title) if title]
    # The first heading may be that of a search box; the title of the tab contains the right one.
    title = next((heading for heading in headings if heading in tab), next(iter(headings), tab))
    return replace(parsed, title=title, author=page.author or "", published=page.date or "")


def _choose_canonical_url(links: list[str], url: str) -> str:
    """Return the first canonical link with the host of the URL; a page cannot pose as a page of another site."""
    for link in links:
        try:
            target = resolve_url(url, link)
            if _strip_host_prefix(target) == _strip_host_prefix(url):
                return target
        except InvalidUrlError:
            continue
    return url


def _strip_host_prefix(url: str) -> str:
    """Return the host of a URL without prefixes such as `www` and `m`."""
    return _HOST_PREFIX.sub("", extract_host(url))
