"""HTML to the normal form: the page's main text as trafilatura finds it, read as Markdown."""

import logging

import trafilatura

from tenure.sources.document import Document, Unreadable
from tenure.sources.markdown import parse_markdown
from tenure.sources.plain_text import parse_plain

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
        document = parse_plain(trafilatura.html2txt(markup, clean=True) or trafilatura.html2txt(markup, clean=False))
    if not document.text:
        raise Unreadable("has no text")
    return document
