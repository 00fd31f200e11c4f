"""Record what the activities of one workflow used, for the budget and for the report."""

from dataclasses import dataclass, field

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.run.run import FallbackRecord, WorkflowUsage


@dataclass
class CallRecord:
    """Usage and fallbacks of one workflow, shared by its clients."""

    usage: WorkflowUsage = field(default_factory=WorkflowUsage)
    """Everything used so far."""
    fallbacks: list[FallbackRecord] = field(default_factory=list)
    """Decisions that a fallback made instead of a model."""
