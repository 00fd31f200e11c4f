"""All limits that settings set, as fields of models."""

from pydantic import BaseModel, Field

from tenure.contracts.evidence.rerank import RerankOptions
from tenure.contracts.run.limits import FixedLimits, StartLimits


class LimitFields(StartLimits, FixedLimits, BaseModel):
    """Limits of a run.

    They bound the length of a report and the work of a run. The client reads them and sends them with the question, so
    a run keeps the limits it was started with. Two limits bound improvements: `max_report_revisions` counts the
    versions of a report, and `max_code_attempts` the generations of a program whose tests fail.
    """

    rerank: RerankOptions = Field(
        default=RerankOptions(), description="Second stage of every search: its steps and their weights."
    )
