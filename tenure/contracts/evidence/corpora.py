"""Corpora: named sets of local documents, and what became of them when they were read."""

from typing import Literal

from pydantic import Field, computed_field

from tenure.contracts.base import Contract

IngestStage = Literal["scanning", "reading", "indexing", "embedding", "done"]

VectorIndex = Literal[
    "auto", "flat", "ivf_flat", "ivf_pq", "ivf_sq", "ivf_rq", "ivf_hnsw_flat", "ivf_hnsw_pq", "ivf_hnsw_sq"
]
"""A family of vector indexes; `auto` goes by the size of the table."""


class IngestRequest(Contract):
    """Bring a corpus into the state of the given files and folders."""

    corpus: str
    """Name of the corpus."""
    paths: tuple[str, ...] = Field(min_length=1)
    """Absolute paths; folders are read recursively. Sources under them that no longer exist are removed."""


class SkippedFile(Contract):
    """A file that was not read, and why."""

    path: str
    """Absolute path."""
    reason: str
    """One plain phrase: empty, encrypted, binary, not readable, …"""


class IngestProgress(Contract):
    """How far an ingestion is; travels in heartbeats."""

    stage: IngestStage = "scanning"
    """What is being done."""
    files_done: int = 0
    """Files finished, unchanged ones included."""
    files_total: int = 0
    """Files found."""
    chunks: int = 0
    """Chunks written so far."""
    last: str = ""
    """The file read last."""
    embedded: int = 0
    """Vectors made so far, while chunks are embedded that were stored without one."""
    to_embed: int = 0
    """Vectors to be made, those that are made included."""


class IngestReport(Contract):
    """The outcome of an ingestion."""

    corpus: str
    """Name of the corpus."""
    files: int = 0
    """Files found under the paths."""
    added: int = 0
    """Files read for the first time."""
    changed: int = 0
    """Files whose content changed; their chunks were replaced."""
    unchanged: int = 0
    """Files whose content hash was known; nothing was embedded."""
    removed: int = 0
    """Sources whose file is gone."""
    chunks: int = 0
    """Chunks written."""
    embedded: int = 0
    """Chunks whose vector was computed, not found in the cache."""
    pending: int = 0
    """Chunks of the corpus that are left without a vector; they are searched by words, and embedded later."""
    seconds: float = 0.0
    """Wall time of the attempt that finished."""
    skipped: tuple[SkippedFile, ...] = ()
    """Files not read, at most 200 of them; `skipped_total` counts all."""
    skipped_total: int = 0
    """Number of files not read."""


class EmbedRequest(Contract):
    """Make the vectors that a corpus lacks."""

    corpus: str
    """Name of the corpus."""


class EmbedReport(Contract):
    """What came of making them."""

    corpus: str
    """Name of the corpus."""
    chunks: int = 0
    """Chunks that got their vector."""
    embedded: int = 0
    """Vectors that were computed, not found in the cache."""
    seconds: float = 0.0
    """Wall time of the attempt that finished."""


class CorpusStats(Contract):
    """What a corpus holds."""

    corpus: str
    """Name of the corpus."""
    sources: int
    """Documents."""
    chunks: int
    """Chunks."""
    characters: int
    """Characters of stored text."""
    pending: int = 0
    """Chunks whose vector is still to be made."""
    embedding_model: str
    """Model its vectors come from."""
    updated_at: str
    """Time of the last ingestion, ISO 8601 in UTC."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def embedded_share(self) -> float:
        """Share of the chunks that have a vector."""
        return 1.0 - self.pending / self.chunks if self.chunks >= self.pending > 0 else 1.0


class IndexStats(Contract):
    """An index of a table."""

    name: str
    """Its name."""
    family: str
    """What it is, as the database names it: IvfRq, FTS, BTree, Bitmap, …"""
    size: int
    """Bytes."""
    rows: int
    """Rows it covers."""
    unindexed: int
    """Rows that came after it was refreshed last; a search compares them one by one."""


class TableStats(Contract):
    """A table of the knowledge base."""

    table: str
    """Its name."""
    rows: int
    """Rows."""
    size: int
    """Bytes of its newest version, indexes included."""
    files: int
    """Files its rows are in; maintenance joins small ones."""
    versions: int
    """Versions that are kept."""
    indexes: tuple[IndexStats, ...] = ()
    """Its indexes by name."""


class QueryStats(Contract):
    """The searches of one kind on this home, the embedding of their questions included."""

    mode: str
    """The kind: dense, sparse, hybrid, …"""
    count: int
    """How many there were."""
    mean_ms: float
    """Their mean time in milliseconds."""
    p95_ms: float
    """The 95th percentile of the latest thousand."""


class CacheStats(Contract):
    """How often the vector of a chunk was known, on this home."""

    hits: int = 0
    """Vectors found in the embedding cache."""
    misses: int = 0
    """Vectors that were computed."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def rate(self) -> float | None:
        """Share of the hits; None before the first vector."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else None


class StoreStats(Contract):
    """What the knowledge base as a whole holds, and how it is used."""

    tables: tuple[TableStats, ...] = ()
    """Its tables by name."""
    queries: tuple[QueryStats, ...] = ()
    """Its searches by kind."""
    cache: CacheStats = CacheStats()
    """The embedding cache."""


class CorpusRequest(Contract):
    """A question about corpora, or the removal of one."""

    action: Literal["list", "stats", "drop"]
    """What to do."""
    corpus: str | None = None
    """Which corpus; None with `list` and `stats` for all."""


class CorpusReply(Contract):
    """The corpora after the action."""

    corpora: tuple[CorpusStats, ...] = ()
    """What they hold."""
    dropped: bool = False
    """Whether `drop` found the corpus."""
    store: StoreStats | None = None
    """The knowledge base as a whole; with `stats` only."""
