"""Document tree of a report: parts, blocks and inline nodes, without the markup of any format.

`compose_report` decides content and order; one writer for each format turns nodes into its language. Text in the tree
is clean and on one line except in code, and holds no markup, so that a writer only has to escape it. The field `kind`
names the type of a node in templates, and in the JSON that Typst reads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tenure.contracts.evidence.passages import ClaimStatus

SpanFormat = Literal["text", "code", "em", "strong", "quiet"]
"""Format of words; quiet ones are of secondary importance."""


@dataclass(frozen=True)
class TextSpan:
    """Words with the same format."""

    text: str
    kind: SpanFormat = "text"


@dataclass(frozen=True)
class StatementNode:
    """Words of a claim."""

    spans: tuple[TextSpan, ...]
    status: ClaimStatus
    """Status of its support; `supported` for one that needs no source."""
    kind: Literal["statement"] = "statement"


@dataclass(frozen=True)
class QuoteContext:
    """Quote with its context, as a citation mark opens it."""

    before: str
    """Words of the source before the quote; empty if there are none."""
    words: str
    """The quoted words."""
    after: str
    """Words after the quote."""
    place: str
    """Position in the file or in the stored text, in words."""
    link: str
    """URL that opens the page at the quote; empty if the source is not a page."""
    source: int
    """Number of the source."""
    span: tuple[int, int]
    """Offsets in the stored text."""
    verdict: str
    """Remark on the support that it gives; empty for a quote of a dispute."""
    is_code: bool
    """Whether its lines are code."""


@dataclass(frozen=True)
class CitationMark:
    """Label of one source within a citation."""

    id: str
    """Identifier, unique in the report."""
    before: str
    """Opening bracket of the first label; empty for the others."""
    label: str
    after: str
    """Separator, or the closing bracket."""
    source: int
    """Number of the source."""
    title: str
    """Title of the source."""
    quotes: tuple[QuoteContext, ...]
    """Quotes that support the claims."""


@dataclass(frozen=True)
class CitationNode:
    """Remark on one or several claims with their citation marks; writers set a space before each of the two."""

    note: str
    """Remark that a reader must see; empty for none."""
    status: ClaimStatus
    marks: tuple[CitationMark, ...]
    """One mark for each source."""
    unsourced: str = ""
    """Mark of a claim that needs a source and has none; empty for any other one."""
    kind: Literal["citation"] = "citation"


@dataclass(frozen=True)
class LinkNode:
    """Link to a page on the web."""

    url: str
    text: str
    """Words of the link; formats that are read as text show the URL instead."""
    kind: Literal["link"] = "link"


@dataclass(frozen=True)
class AnchorNode:
    """Label of a source in the references, to which citation marks lead."""

    source: int
    label: str
    kind: Literal["anchor"] = "anchor"


InlineNode = TextSpan | StatementNode | CitationNode | LinkNode | AnchorNode
Line = tuple[InlineNode, ...]
"""Inline nodes of one paragraph, item or cell."""

ParagraphStyle = Literal["", "question", "summary", "remark", "note", "answer"]
"""Role of a paragraph, by which formats choose colours, sizes and boxes."""


@dataclass(frozen=True)
class ParagraphNode:
    """Paragraph."""

    line: Line
    style: ParagraphStyle = ""
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True)
class ListNode:
    """List with bullets or numbers."""

    items: tuple[Line, ...]
    ordered: bool = False
    style: ParagraphStyle = ""
    kind: Literal["list"] = "list"


@dataclass(frozen=True)
class DefinitionsNode:
    """Terms with their definitions."""

    items: tuple[tuple[Line, Line], ...]
    kind: Literal["definitions"] = "definitions"


@dataclass(frozen=True)
class TableNode:
    """Table whose rows have the same number of cells."""

    columns: tuple[Line, ...]
    """Names of the columns; empty if there are none."""
    rows: tuple[tuple[Line, ...], ...]
    labelled: bool = False
    """Whether the first cell of each row is its name."""
    kind: Literal["table"] = "table"


@dataclass(frozen=True)
class CodeNode:
    """Code with its lines."""

    text: str
    language: str = ""
    """Name of the language; empty if it is unknown."""
    caption: Line = ()
    """Its citation; empty for none."""
    kind: Literal["code"] = "code"


@dataclass(frozen=True)
class PictureNode:
    """Picture of a document with its caption; formats that are read as text show the caption alone."""

    image: str
    """JPEG image in Base64."""
    text: str
    """Alternative text."""
    caption: Line
    kind: Literal["picture"] = "picture"


@dataclass(frozen=True)
class ChartValue:
    """Figure of a table."""

    value: float
    text: str
    """The figure with its unit, as the table shows it."""
    sources: tuple[int, ...]
    """Numbers of its sources."""


@dataclass(frozen=True)
class ChartSeries:
    """Figures that a chart shows in one colour."""

    name: str
    values: tuple[ChartValue | None, ...]
    """A figure for each category; None for a missing one."""


@dataclass(frozen=True)
class ChartNode:
    """Chart of the comparable figures of a table, which it follows."""

    categories: tuple[str, ...]
    series: tuple[ChartSeries, ...]
    unit: str
    """Unit of all figures; empty for numbers without one."""
    text: str
    """Alternative text."""
    caption: Line
    """Caption with the citation of the figures."""
    years: tuple[int, ...] = ()
    """Years of the categories, for a line; empty for bars."""
    kind: Literal["chart"] = "chart"


@dataclass(frozen=True)
class QuoteNode:
    """Excerpt of a source with its place."""

    blocks: "tuple[BlockNode, ...]"
    caption: Line
    """Title, headings and place in the source, with its citation."""
    kind: Literal["quote"] = "quote"


@dataclass(frozen=True)
class PartNode:
    """Part or sub-part with a heading, whose level follows from the nesting."""

    id: str
    """Identifier of a part of the report, unique in it; empty for a sub-part."""
    heading: str
    blocks: "tuple[BlockNode, ...]"
    fold: str = ""
    """Words that unfold the content in formats that can fold it; empty if it is always shown."""
    kind: Literal["part"] = "part"


BlockNode = (
    ParagraphNode | ListNode | DefinitionsNode | TableNode | ChartNode | CodeNode | PictureNode | QuoteNode | PartNode
)


@dataclass(frozen=True)
class ReportTree:
    """A whole report."""

    title: str
    head: tuple[BlockNode, ...]
    """Blocks between the title and the table of contents."""
    blocks: tuple[BlockNode, ...]
    language: str = "en"
    """Language of the headings and fixed sentences, ISO 639-1."""

    @property
    def parts(self) -> tuple[PartNode, ...]:
        """The parts of the table of contents."""
        return tuple(block for block in self.blocks if isinstance(block, PartNode))


def list_citations(block: BlockNode) -> Iterator[CitationNode]:
    """Yield the citations of a block except those of excerpts, which are quotes themselves."""
    if isinstance(block, PartNode):
        for inner in block.blocks:
            yield from list_citations(inner)
        return
    for line in _list_lines(block):
        yield from (node for node in line if isinstance(node, CitationNode))


def _list_lines(block: BlockNode) -> Iterator[Line]:
    match block:
        case ParagraphNode():
            yield block.line
        case ListNode():
            yield from block.items
        case DefinitionsNode() | TableNode():
            rows = block.items if isinstance(block, DefinitionsNode) else block.rows
            yield from (cell for row in rows for cell in row)
        case CodeNode():
            yield block.caption
