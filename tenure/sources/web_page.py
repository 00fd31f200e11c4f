"""HTML to the normal form: the page's main text as trafilatura finds it, read as Markdown."""

import html
import logging
import re
from dataclasses import replace

import trafilatura

from tenure.sources.document import Document, Unreadable
from tenure.sources.markdown import html_words, parse_markdown
from tenure.sources.plain_text import parse_plain

_TITLE = re.compile(r"<title[^>]*>(.*?)</title", re.DOTALL | re.IGNORECASE)

# A library's log must not reach the user's terminal through Python's handler of last resort.
logging.getLogger("trafilatura").addHandler(logging.NullHandler())
logging.getLogger("htmldate").addHandler(logging.NullHandler())


def parse_html(markup: str) -> Document:
    """Read a page; where no main text stands out, all its words are taken.

    Raises:
        Unreadable: if the page has no words.
    """
    main = trafilatura.extract(
        markup,
        output_format="markdown",
        include_formatting=True,
        include_comments=False,
        favor_recall=True,
        with_metadata=True,
        date_extraction_params={"extensive_search": False, "original_date": True},
    )
    document = parse_markdown(main) if main else None
    if document is None or not document.text:
        title = _TITLE.search(markup)
        document = replace(parse_plain(html_words(markup)), title=html.unescape(title[1]) if title else "")
    if not document.text:
        raise Unreadable("has no text")
    return document
