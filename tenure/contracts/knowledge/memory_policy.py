"""Define the rules for memories; every command reads them with the settings, so this module imports little."""

from pydantic import Field

from tenure.contracts.base import Contract


class MemoryPolicy(Contract):
    """Rules for ageing, merging and deleting memories."""

    half_life_days: float = Field(default=90.0, gt=0, le=36_500)
    """Days after which an unused memory has half of its freshness; a third of that for episodes."""
    short_term_hours: float = Field(default=24.0, gt=0, le=8_760)
    """Lifetime of a short-term memory in hours."""
    confirmation_days: float = Field(default=30.0, gt=0, le=3_650)
    """Days within which a statement of one web page must be confirmed by a second one."""
    merge_similarity: float = Field(default=0.94, ge=0.8, le=1)
    """Minimum cosine similarity of memories to be merged."""
    forget_below: float = Field(default=0.02, ge=0, le=1)
    """Strength (importance times freshness) below which a memory is deleted."""
    max_memories: int = Field(default=100_000, ge=100, le=10_000_000)
    """Maximum number of memories per owner; the weakest are deleted first."""
