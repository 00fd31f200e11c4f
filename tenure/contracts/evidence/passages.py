"""Evidence and the claims drawn from it: passages by reference, claims with verbatim citations."""

from typing import Final, Literal

from pydantic import Field

from tenure.contracts.base import ChunkId, Contract, SourceId
from tenure.contracts.choices import SearchMode
from tenure.contracts.evidence.filters import Filter
from tenure.contracts.evidence.rerank import RerankOptions

DEFAULT_SEARCH_MODE: Final = "adaptive"
"""Search mode of a search for which neither a user nor a plan has chosen one."""

ClaimStatus = Literal["supported", "refuted", "neutral", "missing_citation", "invalid_source", "unverified"]

ClaimKind = Literal["fact", "inference", "gap", "lead_in"]
"""Kind of a sentence of a report: `fact`, stated by its passages; `inference`, a conclusion or a recommendation from
them; `gap`, that the passages do not answer something; `lead_in`, an introduction of the sentences after it. Only facts
and inferences need passages."""

ClaimBlockKind = Literal["paragraph", "bullets", "numbered", "table", "definitions", "code", "excerpt"]
"""Form of a block of claims: running text, lists with one claim each, a table with one cell each, terms with one
definition each, code, or an excerpt of a source with its sentences, items, rows and code as claims."""

ExcerptPart = Literal["", "paragraph", "sentence", "item", "row", "code"]
"""Part of an excerpt that a claim is: the first sentence of a paragraph, a further one, an item of a list, a row of a
table with its bars, or code; empty outside of excerpts."""


class Citation(Contract):
    """Verbatim part of a stored source: `text[start:end] == quote` always holds."""

    source: SourceId
    chunk: ChunkId = ChunkId("")
    start: int = Field(ge=0)
    """Offset of the quote's first character in the stored text of the source."""
    end: int = Field(gt=0)
    """Offset after the quote's last character."""
    quote: str


class ClaimText(Contract):
    """A sentence of a report, without its citations."""

    text: str
    """The sentence, the cell of a table, or code; `**`, `*` and backticks mark words in a sentence of a result."""
    kind: ClaimKind = "fact"
    """Kind of the sentence: a fact, an inference from its sources, a gap in the sources, or a lead-in."""
    label: str = ""
    """Name of the row of a cell, or defined term; empty elsewhere."""
    column: str = ""
    """Name of the column of a cell; empty elsewhere."""
    status: ClaimStatus = "unverified"
    """Result of verification; `supported` without a verifier means that the text itself is the quote."""
    confidence: float | None = Field(default=None, ge=0, le=1)
    """Confidence in the status; null if not measured."""
    tainted: bool = False
    """Whether a text with instructions to language models is cited or was in the prompt that produced the sentence."""
    part: ExcerptPart = ""
    """Part of an excerpt that it is; its text is then verbatim, without formats. Empty elsewhere."""
    answers: bool = False
    """Whether it is a part of an excerpt that answers the question of its section."""

    @property
    def statement(self) -> str:
        """The text with the row and the column of a cell, or with the term of a definition, which complete it."""
        return ": ".join(part for part in (" – ".join(filter(None, (self.label, self.column))), self.text) if part)


class Claim(ClaimText):
    """A sentence of a draft with its citations."""

    citations: tuple[Citation, ...] = ()
    query: str = ""
    """Search for what a gap calls unknown; empty elsewhere."""


class Block(Contract):
    """A paragraph, a list, a table, definitions, code or an excerpt as claims in reading order."""

    kind: ClaimBlockKind = "paragraph"
    heading: str = ""
    """Sub-heading above the block; consecutive blocks with the same one share it."""
    claims: tuple[Claim, ...]
    """The sentences, or the cells of a table row by row."""


class Draft(Contract):
    """Text of a section as blocks of claims."""

    blocks: tuple[Block, ...] = ()
    """Paragraphs and lists in reading order."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims in reading order."""
        return tuple(claim for block in self.blocks for claim in block.claims)

    @property
    def text(self) -> str:
        """The draft as plain text, one paragraph per block, without citation marks."""
        return "\n\n".join(" ".join(claim.statement for claim in block.claims) for block in self.blocks)


class CheckedClaims(Contract):
    """Claims after a check or a correction."""

    claims: tuple[Claim | None, ...]
    """One entry per given claim, in order; None for a removed claim."""


class SynthesisDraft(Contract):
    """Draft of the synthesis: conclusions, gaps and a comparison."""

    resolution: Draft = Draft()
    """Conclusions and recommendations; empty until the research has finished."""
    gaps: Draft = Draft()
    """Gaps in the sources; empty until the research has finished."""
    comparison: Draft = Draft()
    """Table that compares the subjects of the question; empty until the research has finished."""


class PassageRef(Contract):
    """Reference to a retrieved chunk, with its retrieval scores."""

    chunk: ChunkId
    source: SourceId
    score: float
    """First-stage score; comparable only within one search."""
    relevance: float
    """Normalised relevance to the query vector, r = (sim − μ)/(1 − μ) where μ is the mean similarity of unrelated
    texts; at most 1."""
    dense_rank: int | None = None
    """Rank in the vector search, from 1; None if not found by it."""
    sparse_rank: int | None = None
    """Rank in the full-text search, from 1; None if not found by it."""
    graph_rank: int | None = None
    """Rank in the walk over the links between passages, from 1; None if not reached."""


class SearchRequest(Contract):
    """A search of the knowledge base."""

    query: str
    """Query text for all retrievers."""
    corpora: tuple[str, ...]
    k: int = Field(default=12, ge=1, le=200)
    """Number of passages to return."""
    hypothetical_answer: str = ""
    """Hypothetical answer (HyDE); its embedding is averaged with that of the query."""
    max_per_source: int | None = Field(default=None, ge=1)
    """Maximum number of passages per source; None for no limit."""
    sources: tuple[SourceId, ...] = ()
    """Sources to search; empty for all sources of the corpora."""
    mode: SearchMode = DEFAULT_SEARCH_MODE
    filters: tuple[Filter, ...] = ()
    """Conditions that every passage must meet."""
    rerank: RerankOptions = RerankOptions()
    """Options of the second stage; disabled by default."""


class SearchReply(Contract):
    """Passages found by a search, best first."""

    passages: tuple[PassageRef, ...]
    embedded_share: float = Field(default=1.0, ge=0, le=1)
    """Share of the searched chunks that had a vector before the search."""
    lacks_links: bool = False
    """Whether a search along links found none to follow and ranked the passages as `hybrid` does."""
    foreign_languages: tuple[str, ...] = ()
    """Main languages of the searched passages that the query is not in, ISO 639-1, the most frequent first."""


class FailedSearch(Contract):
    """A search of a batch that failed permanently."""

    type: str
    message: str


class SearchBatchReply(Contract):
    """Results of a batch of searches."""

    replies: tuple[SearchReply | FailedSearch, ...]
    """Result of each search, in the order of the request."""
