"""The second stage of a search: how the best of what was found is put into its final order.

Every step is off until it is asked for, so that a search without this part ends with its first stage.
"""

from datetime import date
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from tenure.contracts.base import Contract

Kind = Annotated[str, StringConstraints(min_length=1, max_length=500)]
"""Sources of one kind: a host, a path or address they begin with, the end of a file's name, `prose` or `code`."""


class Recency(Contract):
    """How much a new document is preferred to an old one."""

    half_life_days: float = Field(default=365.0, gt=0, le=365_000)
    """Days after which a document has lost half of its newness."""
    weight: float = Field(default=0.5, ge=0, lt=1)
    """What newness is worth: the newest documents gain this share of their score, the oldest lose it."""
    as_of: date | None = None
    """The day from which the age is counted; None for the day of the run."""


class Rerank(Contract):
    """The steps of the second stage, in the order in which they are taken."""

    candidates: int = Field(default=30, ge=1, le=200)
    """How many of the first stage's best are looked at again; the others keep their order behind them."""
    late_interaction: float = Field(default=0.0, ge=0, le=1)
    """Weight of late interaction, token by token, against the first stage."""
    endpoint: float = Field(default=0.0, ge=0, le=1)
    """Weight of the rerank endpoint's scores against the first stage."""
    recency: Recency | None = None
    """Preference for new documents; None for none."""
    authority: dict[Kind, Annotated[float, Field(gt=0, le=10)]] = {}
    """How much sources of a kind count; 1 for those that are not named."""
    diversity: float = Field(default=0.0, ge=0, lt=1)
    """Weight of unlikeness to what stands before, in maximal marginal relevance."""

    @model_validator(mode="after")
    def _weights(self) -> Self:
        """Leave the first stage no negative weight."""
        if self.late_interaction + self.endpoint > 1 + 1e-9:
            raise ValueError("late_interaction and endpoint may not weigh more than 1 together")
        return self

    @property
    def asked(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.late_interaction or self.endpoint or self.recency or self.diversity or self.authority)
