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

from dataclasses import dataclass
from typing import Literal

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


class Unreadable(Exception):
    """A file that cannot be read as a document; the one argument says why, as the rest of "the file …"."""

    def __init__(self, reason: str) -> None:
        """Keep the reason, for example `is encrypted`."""
        super().__init__(reason)
        self.reason = reason
