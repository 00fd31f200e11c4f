"""Settings of the knowledge base: documents, tables, memories, caches and their maintenance."""

from typing import Annotated

from pydantic import Field, SecretStr

from tenure.contracts.evidence.corpora import VectorIndex
from tenure.contracts.knowledge.memory_policy import MemoryPolicy
from tenure.settings.group import IdentifierName, SettingsGroup
from tenure.settings.models import RetrievalModelSettings, TranscriptionSettings


class MemorySettings(SettingsGroup):
    """Memories.

    These settings control how memories of earlier runs age, are merged and are forgotten. The worker reads them
    when it starts.
    """

    memory: bool = True
    """Whether a run uses memories of the owner's earlier runs and keeps memories for later ones."""
    memory_half_life_days: float = Field(default=90.0, gt=0, le=36_500)
    """Days after which an unused memory has half of its freshness; a third of that for episodes."""
    memory_short_term_hours: float = Field(default=24.0, gt=0, le=8760)
    """Lifetime of a short-term memory in hours since its last use."""
    memory_confirmation_days: float = Field(default=30.0, gt=0, le=3650)
    """Days within which a statement of one web page must be confirmed by a second one, or it is forgotten."""
    memory_max_per_owner: int = Field(default=100_000, ge=100, le=10_000_000)
    """Maximum number of memories per owner; the weakest are forgotten first."""

    @property
    def memory_policy(self) -> MemoryPolicy:
        """Rules for ageing, merging and deleting memories."""
        return MemoryPolicy(
            half_life_days=self.memory_half_life_days,
            short_term_hours=self.memory_short_term_hours,
            confirmation_days=self.memory_confirmation_days,
            max_memories=self.memory_max_per_owner,
        )


class TableSettings(SettingsGroup):
    """Tables and databases.

    Queries over tables run in a separate process, within these limits. Databases are defined here once, so that no
    URL and no password is sent with a run.
    """

    sql_seconds: float = Field(default=20.0, gt=0, le=600)
    """Timeout of a query over tables in seconds."""
    sql_rows: int = Field(default=200, ge=1, le=5000)
    """Maximum number of rows kept of a query's result."""
    sql_memory_mb: int = Field(default=1024, ge=64, le=1_000_000)
    """Maximum memory of a query in megabytes."""
    databases: dict[IdentifierName, SecretStr] = {}
    """URLs of PostgreSQL databases that may be queried, by name; a read-only user is sufficient."""


class KnowledgeSettings(RetrievalModelSettings, TranscriptionSettings, MemorySettings, TableSettings):
    """Documents, caches and maintenance.

    The worker reads these settings when it starts. After a change of the length of chunks, all files of a corpus
    are ingested again the next time.
    """

    chunk_tokens: int = Field(default=200, ge=32, le=250)
    """Target length of a chunk in tokens of the embedding model; the built-in model reads at most 256."""
    cold_start_chunks: int = Field(default=512, ge=0, le=100_000)
    """Number of chunks up to which ingestion computes all vectors; with more, a run waits half a minute for those that
    its question needs, and the others are computed in the background.
    """
    ingest_seconds: float = Field(default=900.0, gt=0, le=86_400)
    """Seconds of computing time that one ingestion may spend on slow files beyond what their sizes explain; the files
    after that are skipped with a note.
    """
    vector_index: VectorIndex = "auto"
    """Type of the vector index; `auto` scans small tables and creates `ivf_rq` for large ones."""
    domain_authority: dict[str, Annotated[float, Field(ge=0, le=1)]] = {}
    """Authority of domains and their subdomains, from 0 to 1; 0.7 for other domains."""
    page_cache_megabytes: int = Field(default=2000, ge=1)
    """Size to which maintenance reduces the page cache, in megabytes; the oldest pages are removed first."""
    answer_cache_megabytes: int = Field(default=200, ge=0)
    """Size to which maintenance reduces the cache of model answers, in megabytes; 0 disables the cache."""
    answer_cache_days: float = Field(default=30.0, gt=0, le=3650)
    """Days after which a cached answer is requested again."""
    maintenance_hours: float = Field(default=6.0, ge=0, le=8760)
    """Hours between two maintenances of the knowledge base; 0 for none."""
    archive_hours: float = Field(default=1.0, ge=0, le=8760)
    """Hours between two searches for ended runs that are not archived, such as terminated ones; 0 for none."""
    consolidation_hours: float = Field(default=24.0, ge=0, le=8760)
    """Hours between two consolidations of memories; 0 for none."""
