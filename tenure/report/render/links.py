"""Where a source is, for a person who wants to open it, and on the web at the very words of a quote.

A text fragment (`#:~:text=`) makes a browser scroll to words of a page and mark them. Only an address
of http or https ever becomes a link; whatever else a source may claim to be is shown as a path.
"""

import re
from pathlib import PurePath
from urllib.parse import quote, unquote, urlsplit

from tenure.report.render.escaping import flatten

WHOLE = 120
"""Characters up to which a quote is named as a whole; of a longer one the first and last words are enough."""

EDGE_WORDS = 6
"""Words at either end that name a long quote."""

_FORBIDDEN = re.compile(r"[\s<>\"'\\`\x00-\x1f\x7f]")
_LINE_MARKS = re.compile(r"^\s*(?:#{1,6}\s+|>\s?|[-*+]\s+|\d{1,9}[.)]\s+)+")
_INLINE_MARKS = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|(?<!\w)[*_`~]+(?=\S)|(?<=\S)[*_`~]+(?!\w)")


def is_web(uri: str) -> bool:
    """Whether a source is an address that may become a link."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return False
    return (
        parts.scheme in ("http", "https")
        and bool(parts.hostname)
        and not _FORBIDDEN.search(uri)
        and flatten(uri) == uri
    )


def shown_path(uri: str, base: PurePath | None = None) -> str:
    """Return a path as a person would type it, relative to `base` where it is under it."""
    path = PurePath(unquote(uri.removeprefix("file://")) if uri.startswith("file://") else uri)
    return str(path.relative_to(base) if base is not None and path.is_relative_to(base) else path)


def text_fragment(uri: str, words: str) -> str:
    """Return the address that opens a web page at some of its words; empty for a source that is no page.

    Stored text of a page is Markdown: marks that the page itself does not show are left out. Words that
    go over several lines stand in several blocks of the page, where only their two ends can be named.
    """
    if not is_web(uri):
        return ""
    lines = [line for line in (_as_displayed(line) for line in words.splitlines()) if line]
    if not lines:
        return uri
    page, _, anchor = uri.partition("#")
    return f"{page}#{anchor.partition(':~:')[0]}:~:text={_directive(lines)}"


def _directive(lines: list[str]) -> str:
    first, last = lines[0].split(), lines[-1].split()
    if len(lines) == 1 and (len(lines[0]) <= WHOLE or len(first) <= 2 * EDGE_WORDS):
        return _encoded(lines[0])
    return f"{_encoded(' '.join(first[:EDGE_WORDS]))},{_encoded(' '.join(last[-EDGE_WORDS:]))}"


def _as_displayed(line: str) -> str:
    """Return a line of Markdown as a page shows it."""
    return flatten(_INLINE_MARKS.sub(lambda mark: mark[1] or "", _LINE_MARKS.sub("", line)))


def _encoded(words: str) -> str:
    """Encode words for a text directive, in which a hyphen has a meaning of its own."""
    return quote(words, safe="").replace("-", "%2D")
