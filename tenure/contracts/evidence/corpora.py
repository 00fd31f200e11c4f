"""Requests and reports for corpora (named sets of local documents) and their ingestion."""

from typing import Final, Literal

from pydantic import Field, computed_field

from tenure.contracts.base import ChunkId, Contract, SourceId
from tenure.contracts.evidence.passages import PassageRef, SearchRequest

PICTURE_SUFFIXES: Final = frozenset("png jpg jpeg gif svg webp bmp ico tif tiff avif".split())
"""Suffixes of pictures, without the dot."""

IngestStage = Literal["scanning", "reading", "indexing", "embedding", "done"]

VectorIndex = Literal[
    "auto", "flat", "ivf_flat", "ivf_pq", "ivf_sq", "ivf_rq", "ivf_hnsw_flat", "ivf_hnsw_pq", "ivf_hnsw_sq"
]
"""Type of a vector index; `auto` chooses by the size of the table."""


MAX_REFERENCES = 100
"""Maximum number of passages in one request to read them."""


class IngestRequest(Contract):
    """Files and folders that a corpus is to be synchronised with."""

    corpus: str
    paths: tuple[str, ...] = Field(min_length=1)
    """Absolute paths; folders are read recursively. Sources below them that no longer exist are removed."""
    include_secrets: bool = False
    """Whether files that contain keys, passwords or tokens are read as well."""
    max_transcription_usd: float | None = None
    """Money that recordings may cost; None for no limit."""
    transcribed_seconds: float = 0.0
    """Length of the recordings that earlier attempts have paid for."""


EMPTY: Final = "is empty"
"""Reason for a file without content."""
NO_TEXT: Final = "has no text"
"""Reason for a file whose content has no words, such as a page that consists of its settings."""

TEXTLESS_SUFFIXES: Final = frozenset(
    "ttf otf woff woff2 eot mp3 wav ogg mp4 webm mov pyc class o so dll dylib exe a wasm".split()
)
"""Suffixes of fonts, sounds, videos and compiled programs, of which nothing can be quoted."""


class SkippedFile(Contract):
    """A file that was not read, with the reason."""

    path: str
    """Absolute path; control characters in it are escaped."""
    reason: str
    """Short phrase: empty, encrypted, binary, not readable, …"""

    @property
    def is_picture(self) -> bool:
        """Whether it is a picture by its name; pictures rarely have text that a report needs."""
        return self._suffix in PICTURE_SUFFIXES

    @property
    def may_have_text(self) -> bool:
        """Whether a report may lack its content: it is neither empty nor of a kind without text."""
        return not (self.is_picture or self._suffix in TEXTLESS_SUFFIXES or self.reason in (EMPTY, NO_TEXT))

    @property
    def _suffix(self) -> str:
        stem, _, suffix = self.path.rpartition("/")[2].rpartition(".")
        return suffix.casefold() if stem else ""


class IngestProgress(Contract):
    """Progress of an ingestion, sent in heartbeats."""

    stage: IngestStage = "scanning"
    files_done: int = 0
    """Number of processed files, unchanged ones included."""
    files_total: int = 0
    chunks: int = 0
    """Number of chunks written so far."""
    last_file: str = ""
    """Path of the file read last."""
    embedded: int = 0
    """Number of vectors computed so far for chunks that were stored without one."""
    to_embed: int = 0
    """Total number of vectors to compute."""
    transcribed_seconds: float = 0.0
    """Length of the recordings that a server has transcribed so far."""


class IngestReport(Contract):
    """Result of an ingestion."""

    corpus: str
    files: int = 0
    added: int = 0
    """Number of files read for the first time."""
    changed: int = 0
    """Number of files with changed content, whose chunks were replaced."""
    unchanged: int = 0
    """Number of files with a known content hash; nothing was embedded."""
    removed: int = 0
    """Number of sources whose file no longer exists."""
    chunks: int = 0
    embedded: int = 0
    """Number of chunks whose vector was computed rather than found in the cache."""
    pending: int = 0
    """Number of chunks of the corpus without a vector; they are found by full-text search and embedded later."""
    seconds: float = 0.0
    """Duration of the successful attempt."""
    skipped: tuple[SkippedFile, ...] = ()
    """Files that were not read, at most 200; `skipped_total` counts all of them."""
    skipped_total: int = 0
    """Number of files that were not read."""
    transcribed_seconds: float = 0.0
    """Length of the recordings that a server has transcribed, without those from the cache."""
    transcription_price: float | None = None
    """Price of a minute of them in US dollars; None if it is unknown."""

    @property
    def transcription_cost_usd(self) -> float | None:
        """Cost of these recordings in US dollars; None if the price is unknown."""
        return None if self.transcription_price is None else self.transcribed_seconds / 60 * self.transcription_price


class QuestionEmbedRequest(Contract):
    """Request to compute the vectors that the first search for a question needs."""

    corpus: str
    question: str
    seconds: float = Field(gt=0)
    """Time that the run waits; the other missing vectors are computed too if the measured speed allows it."""


class EmbedReport(Contract):
    """Result of computing missing vectors."""

    corpus: str
    chunks: int = 0
    """Number of chunks that received a vector."""
    embedded: int = 0
    """Number of vectors computed rather than found in the cache."""
    pending: int = 0
    """Number of chunks of the corpus that are still without a vector."""
    seconds: float = 0.0
    """Duration of the successful attempt."""


class CorpusStats(Contract):
    """Size and state of a corpus."""

    corpus: str
    sources: int
    """Number of documents."""
    chunks: int
    characters: int
    pending: int = 0
    """Number of chunks without a vector."""
    embedding_model: str
    updated_at: str
    """Time of the last ingestion that changed it, ISO 8601 in UTC."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def embedded_share(self) -> float:
        """Share of the chunks that have a vector."""
        return 1.0 - self.pending / self.chunks if self.chunks >= self.pending > 0 else 1.0


class IndexStats(Contract):
    """Size and coverage of a table's index."""

    name: str
    family: str
    """Type as the database reports it: IvfRq, FTS, BTree, Bitmap, …"""
    size: int
    """Size in bytes."""
    rows: int
    unindexed: int
    """Number of rows added since the last refresh; a search scans them one by one."""


class TableStats(Contract):
    """Size of a table of the knowledge base."""

    table: str
    rows: int
    size: int
    """Size of the newest version in bytes, indexes included."""
    files: int
    """Number of data files; maintenance merges small ones."""
    versions: int
    indexes: tuple[IndexStats, ...] = ()
    """Indexes, by name."""


class QueryStats(Contract):
    """Latency of the searches of one kind, embedding of the query included."""

    mode: str
    """Kind of search: dense, sparse, hybrid, …"""
    count: int
    mean_ms: float
    p95_ms: float
    """95th percentile of the latest thousand searches."""


class CacheStats(Contract):
    """Hit rate of the embedding cache."""

    hits: int = 0
    """Number of vectors found in the cache."""
    misses: int = 0
    """Number of vectors computed."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def rate(self) -> float | None:
        """Share of hits, or None before the first lookup."""
        lookups = self.hits + self.misses
        return self.hits / lookups if lookups else None


class StoreStats(Contract):
    """Size and use of the whole knowledge base."""

    tables: tuple[TableStats, ...] = ()
    queries: tuple[QueryStats, ...] = ()
    """Searches, by kind."""
    cache: CacheStats = CacheStats()


class TextRange(Contract):
    """Part of the stored text of a source."""

    source: SourceId
    start: int = Field(ge=0)
    """Offset of the first character."""
    end: int = Field(gt=0)
    """Offset after the last character."""
    with_picture: bool = False
    """Whether a picture of its page or slide is drawn, or the cells around it are read, if the file has such places."""


class SheetRow(Contract):
    """Row of a sheet."""

    number: int
    """Number in the sheet, from 1."""
    cells: tuple[str, ...]


class SheetWindow(Contract):
    """Cells of a sheet around a quote; rows and columns are counted from 1."""

    sheet: str
    """Name of the sheet; empty for a file that is one sheet."""
    label: str
    """Quoted cells, as in `sheet Costs, cells B7:D7`."""
    columns: tuple[str, ...]
    """Letters of the columns."""
    rows: tuple[SheetRow, ...]
    """The row that names the columns, and the rows around the quote."""
    marked_rows: tuple[int, int]
    """First and last row of the quote."""
    marked_columns: tuple[str, ...]
    """Letters of the quoted columns."""


class StoredPassage(Contract):
    """Part of the stored text of a source, with the text around it."""

    chunk: ChunkId = ChunkId("")
    """Chunk that it is; empty for any other part."""
    source: SourceId
    title: str
    uri: str
    """Path or URL of the source."""
    text: str
    """The text, shortened."""
    before: str = ""
    after: str = ""
    page: int | None = None
    """Page on which it starts, from 1; None for a source without pages."""
    picture: str = ""
    """Page or slide with the text marked, or picture that a model has read, in Base64; empty unless requested, or with
    a reason in `no_picture`."""
    picture_type: Literal["image/webp", "image/jpeg", "image/svg+xml"] = "image/webp"
    """Media type of the picture; SVG for a slide, whose shapes are drawn at their positions with their text."""
    window: SheetWindow | None = None
    """Cells around the text if it is in a sheet and a picture is requested."""
    no_picture: str = ""
    """Reason for a requested picture or window that could not be made, which completes the sentence "the file …"."""


class DocumentChoice(Contract):
    """Page of the documents of a corpus."""

    words: str = ""
    """Words of their titles and paths; empty for all."""
    offset: int = Field(default=0, ge=0)
    limit: int = Field(default=50, ge=1, le=500)


class CorpusDocument(Contract):
    """Document of a corpus."""

    source: SourceId
    title: str
    uri: str
    """Path or URL."""
    published: str
    """Date of publication, ISO 8601; empty if unknown."""
    fetched_at: str
    """Time at which it was read, ISO 8601 in UTC."""
    chunks: int
    characters: int


class CorpusRequest(Contract):
    """Request to list, measure, search or drop corpora, to list documents, or to read stored passages."""

    action: Literal["list", "stats", "drop", "read", "search", "documents"]
    corpus: str | None = None
    """Name of the corpus; None with `list` and `stats` for all."""
    passages: tuple[PassageRef, ...] = Field(default=(), max_length=MAX_REFERENCES)
    """Passages to read with `read`."""
    range: TextRange | None = None
    """Part of a source to read with `read`."""
    search: SearchRequest | None = None
    """Search to perform with `search`."""
    documents: DocumentChoice = DocumentChoice()
    """Documents of the corpus to list with `documents`."""


class CorpusReply(Contract):
    """The corpora after the action."""

    corpora: tuple[CorpusStats, ...] = ()
    """Size and state of each corpus."""
    dropped: bool = False
    """Whether `drop` found the corpus."""
    store: StoreStats | None = None
    """Statistics of the whole knowledge base; only with `stats`."""
    passages: tuple[StoredPassage, ...] = ()
    """Passages that are still stored, in the order of the request with `read`, and best first with `search`."""
    documents: tuple[CorpusDocument, ...] = ()
    """Documents by title; only with `documents`, which returns the statistics of its corpus alone."""
    documents_total: int = 0
    """Number of all documents that match."""
