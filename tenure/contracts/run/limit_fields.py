"""All limits that settings set, as fields of models."""

from pydantic import BaseModel, Field

from tenure.contracts.evidence.rerank import RerankOptions
from tenure.contracts.run.limits import FixedLimits, StartLimits


class LimitFields(StartLimits, FixedLimits, BaseModel):
    """All limits that settings set."""

    rerank: RerankOptions = Field(
        default=RerankOptions(), description="Second stage of every search: its steps and their weights."
    )
