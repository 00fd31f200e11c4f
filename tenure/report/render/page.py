"""Define the view of a report that templates render, without markup."""

from dataclasses import dataclass
from typing import Literal

from tenure.contracts.evidence.passages import ClaimBlockKind, ClaimStatus
from tenure.report.render.escaping import TextSpan
from tenure.report.render.excerpts import ExcerptGroupKind

Line = tuple[TextSpan, ...]
"""Words of one line with their formats."""


@dataclass(frozen=True)
class QuoteView:
    """Quote with its context."""

    before: str
    """Words of the source before the quote; empty if there are none."""
    words: str
    """The quoted words."""
    after: str
    """Words after the quote."""
    place: str
    """Position in the stored text."""
    link: str
    """URL that opens the page at the quote; empty if the source is not a page."""
    source: int
    """Number of the source."""
    span: tuple[int, int]
    """Offsets in the stored text."""
    verdict: str = ""
    """Remark on the support that it gives."""


@dataclass(frozen=True)
class MarkView:
    """Citation mark of one source."""

    id: str
    """Identifier, unique on the page."""
    label: str
    """Text of the mark."""
    source: int
    """Number of the source."""
    title: str
    """Title of the source."""
    quotes: tuple[QuoteView, ...]
    """Quotes that support the sentences."""


@dataclass(frozen=True)
class SentenceView:
    """A claim with its citation marks."""

    spans: Line
    """Its words; code is one span with its lines."""
    status: ClaimStatus
    """Status of its support; `supported` for one that needs no source."""
    note: str
    """Remark on the claim if a reader must see it; empty otherwise."""
    marks: tuple[MarkView, ...]
    """One mark for each source."""
    lacks_source: bool
    """Whether it has no source although it needs one."""


@dataclass(frozen=True)
class RowView:
    """Row of a table, or term with its definition."""

    label: Line
    """Name of the row, or the term."""
    cells: tuple[tuple[SentenceView, ...], ...]
    """Claims of each column; of a term, one cell with its definition."""


@dataclass(frozen=True)
class ExcerptGroupView:
    """Paragraph, list, table or code of an excerpt, without citation marks."""

    kind: ExcerptGroupKind
    """Its form."""
    before: str
    """Ellipsis if words of the source are missing before it; empty otherwise."""
    columns: tuple[Line, ...]
    """Names of the columns of a table; empty if they are unknown."""
    rows: tuple[tuple[Line, ...], ...]
    """Sentences of each item, or cells of each row; answers are strong."""


@dataclass(frozen=True)
class ExcerptView:
    """Excerpt of a source with its place."""

    groups: tuple[ExcerptGroupView, ...]
    """Its paragraphs, lists, tables and code."""
    place: str
    """Title, headings and place in the source."""
    note: str
    """Remark that a reader must see; empty otherwise."""
    marks: tuple[MarkView, ...]
    """Its citation mark."""


@dataclass(frozen=True)
class BlockView:
    """Paragraph, list, table, definitions, code or excerpt."""

    kind: ClaimBlockKind
    """Form of the block."""
    heading: str
    """Sub-heading above it; empty for none."""
    sentences: tuple[SentenceView, ...]
    """Its claims; empty for a table, for definitions and for an excerpt."""
    columns: tuple[Line, ...]
    """Names of the columns of a table."""
    rows: tuple[RowView, ...]
    """Rows of a table, or terms with their definitions."""
    excerpt: ExcerptView | None = None
    """The excerpt; None for all other blocks."""


@dataclass(frozen=True)
class PartView:
    """Part of the report with a heading."""

    id: str
    """Identifier, unique on the page."""
    heading: str
    """The heading."""
    passages: tuple[BlockView, ...]
    """The text."""
    note: str = ""
    """Remark below the heading; empty for none."""


@dataclass(frozen=True)
class ThoughtView:
    """Step of the reasoning."""

    label: str
    """Kind of the step and the steps it rests on."""
    sentence: SentenceView
    """Its sentence."""


@dataclass(frozen=True)
class ReasoningView:
    """Line of reasoning, and the parts of the synthesis that conclusions are drawn from."""

    heading: str
    opening: str
    """Description of the method; empty without a line of reasoning."""
    steps: tuple[ThoughtView, ...]
    conclusion: ThoughtView | None
    considered_heading: str
    considered: tuple[Line, ...]
    """Discarded alternatives."""
    background: tuple[PartView, ...]
    """Parts of the synthesis."""


@dataclass(frozen=True)
class Remark:
    """Paragraph, list item, code block or heading."""

    kind: Literal["paragraph", "bullet", "code", "heading"]
    """Kind of the remark."""
    spans: Line
    """The words; a code block is one span with its lines."""


@dataclass(frozen=True)
class ChapterView:
    """Part of a report on a program."""

    id: str
    """Identifier, unique on the page."""
    heading: str
    """The heading; empty for the text before the first heading."""
    remarks: tuple[Remark, ...]
    """Its remarks."""


@dataclass(frozen=True)
class SideView:
    """A quote on one side of a dispute."""

    position: str
    """Words that place the quote: for, against; empty for a statement of a contradiction."""
    note: str
    """Date and origin of the source; empty if unknown."""
    label: str
    """Label of its source."""
    source: int
    """Number of the source."""
    title: str
    """Title of the source."""
    quote: QuoteView
    """The quote."""


@dataclass(frozen=True)
class DisagreementView:
    """Dispute between sources."""

    words: str
    """Its subject."""
    sides: tuple[SideView, ...]
    """Quotes of both sides."""
    outcome: str
    """Outcome of the search for a primary or newer source; empty if it is unknown."""


@dataclass(frozen=True)
class DisagreementsView:
    """Part of a report with disputes."""

    id: str
    """Identifier, unique on the page."""
    heading: str
    """Its heading."""
    disputes: tuple[DisagreementView, ...]
    """Its disputes."""


@dataclass(frozen=True)
class CitedQuoteView:
    """Entry of the list of quotes."""

    quote: QuoteView
    """The quote."""
    parts: str
    """Parts of the report that use it."""


@dataclass(frozen=True)
class ReferenceView:
    """Entry of the list of references, with its quotes."""

    n: int
    """Number of the source."""
    label: str
    """Label in marks."""
    title: str
    """Title."""
    origin: str
    """Author and date."""
    address: str
    """Path or URL as text."""
    link: str
    """URL to open; empty if the source is not on the web."""
    accessed: str
    """Day of reading."""
    suspicious: bool
    """Whether it contains instructions to language models."""
    gone: bool
    """Whether it was unavailable when the report was finished."""
    archived: str
    """URL of an archived copy; empty without one."""
    quotes: tuple[CitedQuoteView, ...]
    """Quotes that the report uses."""


@dataclass(frozen=True)
class FigureView:
    """Figure with its name and its number in words."""

    name: str
    """Name of the figure."""
    value: str
    """Most important number in words; empty if the figure shows it."""
    svg: str
    """SVG image; empty if there is nothing to draw."""
    words: str
    """Description of the figure."""


@dataclass(frozen=True)
class ReportPage:
    """View of a report."""

    title: str
    question: str
    remark: str
    """First remark on the status of the run."""
    summary: str
    """Number of supported sentences."""
    opening: str
    """Text before the first label of a mark."""
    between: str
    """Text between two labels."""
    closing: str
    """Text after the last label."""
    news: tuple[Remark, ...]
    """Changes since the last report of a scheduled question."""
    news_heading: str
    nothing_found: tuple[Remark, ...]
    chapters: tuple[ChapterView, ...]
    no_answer: str
    """Remark on a report that answers no part of its question."""
    short_answer_label: str
    short_answer: tuple[BlockView, ...]
    """The answer in a few words; empty if there is none."""
    abstract: tuple[BlockView, ...]
    meanings: tuple[str, ...]
    """Meanings of the marks of doubt that occur."""
    comparison: PartView | None
    brief_note: str
    """Remark on a report that consists of excerpts; empty for any other one."""
    sections: tuple[PartView, ...]
    reasoning: ReasoningView | None
    synthesis: tuple[PartView, ...]
    files: tuple[Remark, ...]
    """Files that a program made for the report."""
    disagreements: tuple[DisagreementsView, ...]
    endings: tuple[PartView, ...]
    """Conclusions and gaps."""
    limits: tuple[Line, ...]
    beyond: str
    further: tuple[Line, ...]
    feedback: tuple[Remark, ...]
    coverage: tuple[FigureView, ...]
    gain: FigureView | None
    budget: tuple[FigureView, ...]
    how_to_check: str
    references: tuple[ReferenceView, ...]
    provenance: tuple[Remark, ...]
