"""Options of the second stage of a search, which reorders the best results of the first stage.

All steps are disabled by default.
"""

from datetime import date
from typing import Annotated

from pydantic import Field, StringConstraints

from tenure.contracts.base import Contract

SourcePattern = Annotated[str, StringConstraints(min_length=1, max_length=500)]
"""Pattern that selects sources: a host, a path or URL prefix, a file name suffix, `prose` or `code`."""


class RecencyOptions(Contract):
    """Preference for recent documents."""

    half_life_days: float = Field(default=365.0, gt=0, le=365_000)
    """Age in days at which half of the recency bonus is lost."""
    weight: float = Field(default=0.5, ge=0, lt=1)
    """Weight of recency: the newest documents gain this share of their score, the oldest lose it."""
    as_of: date | None = None
    """Date from which the age is measured; None for the day of the run."""


class RerankOptions(Contract):
    """Steps of the second stage, in the order in which they are applied."""

    candidates: int = Field(default=30, ge=1, le=200)
    """Number of first-stage results that are reranked; the others follow in their order."""
    endpoint: float = Field(default=0.0, ge=0, le=1)
    """Weight of the rerank endpoint's scores against the first stage."""
    recency: RecencyOptions | None = None
    """Preference for recent documents, by `half_life_days`, `weight` and the day `as_of`; None for none."""
    authority: dict[SourcePattern, Annotated[float, Field(gt=0, le=10)]] = {}
    """Score factors of sources by host, path or URL prefix, suffix, `prose` or `code`; 1 for all others."""
    diversity: float = Field(default=0.0, ge=0, lt=1)
    """Weight of dissimilarity to higher-ranked passages in maximal marginal relevance (MMR)."""

    @property
    def is_enabled(self) -> bool:
        """Whether any step is enabled."""
        return bool(self.endpoint or self.recency or self.diversity or self.authority)
