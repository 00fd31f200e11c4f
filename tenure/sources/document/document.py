"""Define documents in the normal form that chunking, search and quoting rely on.

Prose in **normal form** has these properties, whatever its file format was:

- blocks are separated by exactly one blank line, and no line ends in white space;
- a heading is a line of one to six hashes, a space and the title;
- a paragraph is one line: wrapped lines are joined by single spaces, and inline markup is removed
  (emphasis, link targets, back-ticks, footnote marks);
- a list is a block of lines `- item` or `1. item`, each item one line, nested ones indented two spaces a level;
- a literal block (code, a console session, a formula) is indented four spaces and keeps its line breaks;
- a table is a block of lines `| a | b |`;
- lines of plain text that are not wrapped prose (a log, a poem, an address) stay lines of one block.

Code is unchanged, except for line endings, trailing white space and invisible characters. All text is Unicode NFC
without NUL, control characters, soft hyphens or zero-width spaces. Parsing is deterministic, since citations are
offsets into the text.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from tenure.algorithms.text.dates import normalize_date
from tenure.contracts.evidence.figures import WHOLE, Figure
from tenure.contracts.evidence.places import DocumentPlace
from tenure.contracts.evidence.recognition import RecognizedWord

TextKind = Literal["prose", "code"]


class RecognizedText(NamedTuple):
    """Text that was recognized in a picture."""

    text: str
    words: tuple[RecognizedWord, ...]


class EmbeddedPicture(NamedTuple):
    """Picture that a parser has found in a document."""

    start: int
    """Offset of the end of the text before it, or of its caption."""
    part: str
    """Name of the picture in the file, as `Figure.part`."""
    description: str = ""
    """Caption or alternative text; may be empty."""
    data: bytes | None = b""
    """Content; None if it is a file of its own, and empty for a part of a page of a PDF."""
    label: str = ""
    """Label of its caption, which begins at its offset; empty if the caption is not known yet."""
    page: int = 0
    """Page of a PDF, from 1; 0 in other documents."""
    box: tuple[float, float, float, float] = WHOLE
    """Left, upper, right and lower edge on the page."""
    recognized: RecognizedText | None = None
    """Recognized text of a part of a page of a PDF; None without any."""


@dataclass(frozen=True)
class Document:
    """Parsed document."""

    title: str
    """Title in the document; a title made from the file name if it has none."""
    text: str
    kind: TextKind
    """Whether the text is prose in normal form or code."""
    author: str = ""
    published: str = ""
    """Date in the metadata, in any notation; may be empty."""
    pages: tuple[int, ...] = ()
    """Offset of the start of each page; empty for a document without pages."""
    places: tuple[DocumentPlace, ...] = ()
    """Other parts in reading order; empty for a document without them."""
    words: tuple[RecognizedWord, ...] = ()
    """Recognized words in reading order; empty for a document that is text."""
    pictures: tuple[EmbeddedPicture, ...] = ()
    """Pictures in reading order, before their text is read; empty afterwards."""
    figures: tuple[Figure, ...] = ()
    """Pictures in reading order, after their text was read."""
    unread: str = ""
    """Part that was not read with the reason, as in "was read without page 3: …"; empty if everything was."""


@dataclass(frozen=True)
class WebDocument:
    """Parsed web page, with its metadata and the text that quality checks need."""

    document: Document
    url: str
    """URL for citations: the canonical link if it has the same host."""
    visible_text: str = ""
    """All visible text, including that around the main text; empty for other formats than HTML."""
    hidden_text: str = ""
    """Text that a browser does not show; it is not part of the document."""
    is_paywalled: bool = False
    """Whether the page declares that it is not accessible for free."""
    is_truncated: bool = False
    """Whether the end of a long page was removed."""

    @property
    def publication_date(self) -> str:
        """Date of publication in ISO 8601; empty if unknown."""
        return normalize_date(self.document.published)


class Unreadable(Exception):
    """A file that cannot be parsed."""

    def __init__(self, reason: str) -> None:
        """Store the reason, which completes the sentence "the file …", for example `is encrypted`."""
        super().__init__(reason)
        self.reason = reason
