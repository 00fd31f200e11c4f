"""What a parser delivers: one document in the normal form that chunking, search and quoting rely on.

Prose has this **normal form**, whatever the file was:

- blocks are separated by exactly one blank line, and no line ends in white space;
- a heading is a line of one to six hashes, a space and the title;
- a paragraph is one line: wrapped lines are joined by single spaces, and inline markup is gone
  (emphasis, link targets, back-ticks, footnote marks);
- a list is a block of lines `- item` or `1. item`, each item one line, nested ones indented two spaces a level;
- a literal block (code, a console session, a formula) is indented four spaces and keeps its line breaks;
- a table is a block of lines `| a | b |`;
- lines of plain text that are not wrapped prose (a log, a poem, an address) stay lines of one block.

Code is kept to the letter, but for line endings, trailing white space and characters no one can see.
All text is Unicode NFC without NUL, control characters, soft hyphens or zero-width spaces, and the same
bytes always give the same text, since citations are offsets into it.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final, Literal

from tenure.algorithms.text.dates import iso_date

Kind = Literal["prose", "code"]


@dataclass(frozen=True)
class Document:
    """A file that was read."""

    title: str
    """What the document calls itself; a readable form of its file name where it says nothing."""
    text: str
    """The words, in normal form."""
    kind: Kind
    """Whether the text is prose in normal form or code to the letter."""
    author: str = ""
    """Who wrote it, where the file says so."""
    published: str = ""
    """When it was written, as the file says it."""
    pages: tuple[int, ...] = ()
    """Where in the text each page of a paged document begins; empty for one without pages."""

    def page_at(self, offset: int) -> int:
        """Return the number, from 1, of the page that a place in the text stands on; 0 where there are no pages."""
        return bisect_right(self.pages, offset)


@dataclass(frozen=True)
class Page:
    """A document from the web, with what it says of itself and what its quality is judged by."""

    document: Document
    """What it says."""
    address: str
    """The address that it wants to be cited by: its canonical link where that is of the same host."""
    language: str = ""
    """Language as a BCP 47 tag; empty where it does not say so."""
    site: str = ""
    """Name of the site."""
    visible: str = ""
    """All words that a reader sees, also those around the main text; empty for what is no web page."""
    hidden: str = ""
    """Words that a browser does not show; they are no part of the document."""
    locked: bool = False
    """Whether the page says that not everybody may read all of it."""
    shortened: bool = False
    """Whether it was so long that its end was left out."""

    @property
    def published(self) -> str:
        """The day it was published, ISO 8601; empty where unknown."""
        return iso_date(self.document.published)


NO_TEXT: Final = "has no text"
"""Why a document without words cannot be read."""


class Unreadable(Exception):
    """A file that cannot be read as a document; the one argument says why, as the rest of "the file …"."""

    def __init__(self, reason: str) -> None:
        """Keep the reason, for example `is encrypted`."""
        super().__init__(reason)
        self.reason = reason
