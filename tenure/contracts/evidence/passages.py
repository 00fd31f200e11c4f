"""Evidence and what is claimed from it: passages by reference, claims with verbatim citations."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import ChunkId, Contract, SourceId
from tenure.contracts.evidence.filters import Filter
from tenure.contracts.evidence.rerank import Rerank

Strategy = Literal["dense", "sparse", "rrf", "hybrid", "graph", "adaptive"]
"""How a search finds passages: by likeness of vectors; by words; by both, fused by their ranks (`rrf`) or by
their scores (`hybrid`); by links from what both find best; or by links where the corpus is one that names
connect, and by scores elsewhere."""

ClaimStatus = Literal["supported", "refuted", "neutral", "missing_citation", "invalid_source", "unverified"]


class Citation(Contract):
    """A verbatim piece of a stored source: `text[start:end] == quote` by construction (DESIGN §6)."""

    source: SourceId
    """The cited source."""
    chunk: ChunkId = ChunkId("")
    """The passage it was cut from."""
    start: int = Field(ge=0)
    """First character of the quote in the source's stored text."""
    end: int = Field(gt=0)
    """One past the quote's last character."""
    quote: str
    """The words of the source."""


class Claim(Contract):
    """One sentence of a report together with what it rests on."""

    text: str
    """The sentence, without citation marks."""
    status: ClaimStatus = "unverified"
    """What verification found; `supported` without a verifier means that the text is itself the quote."""
    confidence: float | None = Field(default=None, ge=0, le=1)
    """How sure the status is; None where nothing measured it."""
    citations: tuple[Citation, ...] = ()
    """The quotes it rests on."""


class Block(Contract):
    """A paragraph or a bulleted list; its claims are read in order."""

    kind: Literal["paragraph", "bullets"] = "paragraph"
    """How the claims are set: run together, or one to a bullet."""
    claims: tuple[Claim, ...]
    """The sentences."""


class Draft(Contract):
    """The text of one section, as blocks of claims."""

    blocks: tuple[Block, ...] = ()
    """Paragraphs and lists in reading order."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims of the draft in reading order."""
        return tuple(claim for block in self.blocks for claim in block.claims)

    @property
    def text(self) -> str:
        """The draft as plain text, a paragraph per block, without citation marks."""
        return "\n\n".join(" ".join(claim.text for claim in block.claims) for block in self.blocks)


class Disagreement(Contract):
    """Two statements of different sources that cannot both be true."""

    a: Citation
    """One side."""
    b: Citation
    """The other."""
    severity: Literal["low", "medium", "high"]
    """How much it matters."""
    about: str = ""
    """What they disagree in."""


class Disagreements(Contract):
    """Everything that sources were found to disagree in."""

    found: tuple[Disagreement, ...] = ()
    """The contradictions."""


class Claims(Contract):
    """Claims on their own, as a check or a correction gives them back."""

    claims: tuple[Claim | None, ...]
    """One for each that was given, in order; None where one is left out."""


class SynthesisDraft(Contract):
    """Situation, Complication and Resolution, as far as they are written (document 004)."""

    situation: Draft = Draft()
    """What is the case."""
    complication: Draft = Draft()
    """What makes it hard, or contested."""
    resolution: Draft = Draft()
    """What follows; empty until the research is finished."""


class PassageRef(Contract):
    """A retrieved chunk by reference, with the scores that brought it here."""

    chunk: ChunkId
    """The chunk."""
    source: SourceId
    """The source it stands in."""
    score: float
    """Score of the first stage; comparable within one search only."""
    relevance: float
    """Normalised relevance r = (sim − μ)/(1 − μ) to the query vector (DESIGN §4), at most 1."""
    dense_rank: int | None = None
    """Rank in the vector search, from 1; None where it was not among its results."""
    sparse_rank: int | None = None
    """Rank in the full-text search, from 1; None where it was not among its results."""
    graph_rank: int | None = None
    """Rank in the walk over the links between passages, from 1; None where it did not come by."""
    first_rank: int | None = None
    """Rank in the first stage, from 1; None where there was no other."""
    rerank_score: float | None = None
    """Score of the second stage, before diversity; None where it did not look at the passage."""


class SearchRequest(Contract):
    """A search in the knowledge base."""

    query: str
    """What to look for; drives both legs."""
    corpora: tuple[str, ...]
    """Names of the corpora to search."""
    k: int = Field(default=12, ge=1, le=200)
    """How many passages to return."""
    hypothetical: str = ""
    """A hypothetical answer (HyDE); its embedding is averaged with the query's."""
    max_per_source: int | None = Field(default=None, ge=1)
    """At most so many passages of one source; None for no bound."""
    sources: tuple[SourceId, ...] = ()
    """Only in these sources; none for all of the corpora."""
    strategy: Strategy = "adaptive"
    """How to search."""
    alpha: float = Field(default=0.5, ge=0, le=1)
    """Weight of likeness against words, wherever their scores are blended."""
    filters: tuple[Filter, ...] = ()
    """What every passage has to meet besides."""
    rerank: Rerank = Rerank()
    """What is done with the best of what was found; nothing where nothing is asked for."""


class SearchReply(Contract):
    """What a search found, best first."""

    passages: tuple[PassageRef, ...]
    """The passages."""
    embedded_share: float = Field(default=1.0, ge=0, le=1)
    """Share of the searched chunks that had a vector before the search."""
