"""Build links to sources, on the web to the quoted words.

A text fragment (`#:~:text=`, WICG Scroll to Text Fragment) makes a browser scroll to words and highlight them. Only
http and https URLs become links; every other source is shown as a path.
"""

import os
import re
from collections.abc import Iterable
from pathlib import PurePath
from urllib.parse import quote, unquote, urlsplit

from tenure.algorithms.text.printable import flatten
from tenure.contracts.evidence.places import is_archive
from tenure.contracts.research.pictures import get_document_path

MAX_WHOLE_QUOTE_CHARS = 120
"""Maximum length of a quote that a fragment contains as a whole; a longer one is named by its first and last words."""

MIN_FOLDER_PARTS = 3
"""Minimum depth of a folder whose name stands for it in a report."""

EDGE_WORDS = 6
"""Number of words at either end of a long quote."""

# Characters that would end a link in one of the formats.
_FORBIDDEN = re.compile(r"[\s<>\"'\\`\x00-\x1f\x7f]")
# "## Heading", "> quote", "- item", "1. item" and several of them: "> - item".
_LINE_MARKS = re.compile(r"^\s*(?:#{1,6}\s+|>\s?|[-*+]\s+|\d{1,9}[.)]\s+)+")
# "[text](url)" and "![alt](url)", of which the text stays, "**strong**" and "`code`", but not "2 * 3".
_INLINE_MARKS = re.compile(r"!?\[([^\[\]]*+)\]\((?:[^()]|\([^()]*+\))*+\)|(?<!\w)[*_`~]+(?=\S)|(?<=\S)[*_`~]+(?!\w)")


def is_web(uri: str) -> bool:
    """Return whether a source is a URL that may become a link."""
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


def choose_base(uris: Iterable[str], base: PurePath | None = None) -> PurePath | None:
    """Return the folder to which the paths of a report are shown relative.

    This is `base`, or the parent of the folder that contains all files if none of them is below `base`: readers need
    the name of the folder that was read, not the way to it on the machine that read it.
    """
    files = [path for path in (_parse_path(uri) for uri in uris if not is_web(uri)) if path.is_absolute()]
    if not files or (base is not None and any(path.is_relative_to(base) for path in files)):
        return base
    folder = PurePath(os.path.commonpath([path.parent for path in files]))
    # A file of an archive keeps the name of the archive.
    folder = next((part.parent for part in reversed((folder, *folder.parents)) if is_archive(str(part))), folder)
    return folder.parent if len(folder.parts) >= MIN_FOLDER_PARTS else base


def format_path(uri: str, base: PurePath | None = None) -> str:
    """Return a path, relative to `base` if it is below it; that of the document for a reading of a picture."""
    path = _parse_path(get_document_path(uri))
    return str(path.relative_to(base) if base is not None and path.is_relative_to(base) else path)


def _parse_path(uri: str) -> PurePath:
    return PurePath(unquote(uri.removeprefix("file://")) if uri.startswith("file://") else uri)


def build_text_fragment(uri: str, words: str) -> str:
    """Return the URL that opens a web page at quoted words; empty for a source that is not a page.

    The stored text of a page is Markdown: markup that the page does not show is removed. Words across several lines are
    in several blocks of the page, so only their two ends can be named.
    """
    if not is_web(uri):
        return ""
    lines = [line for line in (_strip_markdown(line) for line in words.splitlines()) if line]
    if not lines:
        return uri
    page, _, anchor = uri.partition("#")
    return f"{page}#{anchor.partition(':~:')[0]}:~:text={_directive(lines)}"


def _directive(lines: list[str]) -> str:
    first, last = lines[0].split(), lines[-1].split()
    if len(lines) == 1 and (len(lines[0]) <= MAX_WHOLE_QUOTE_CHARS or len(first) <= 2 * EDGE_WORDS):
        return _encode(lines[0])
    return f"{_encode(' '.join(first[:EDGE_WORDS]))},{_encode(' '.join(last[-EDGE_WORDS:]))}"


def _strip_markdown(line: str) -> str:
    """Return a line of Markdown as a page shows it."""
    return flatten(_INLINE_MARKS.sub(lambda mark: mark[1] or "", _LINE_MARKS.sub("", line)))


def _encode(words: str) -> str:
    """Encode words for a text directive, in which a hyphen is special."""
    return quote(words, safe="").replace("-", "%2D")
