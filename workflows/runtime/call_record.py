"""Account for the activities of one workflow, for the budget and for the report."""

from dataclasses import dataclass, field

from temporalio import workflow

from workflows.runtime.budget import BudgetLease
from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.progress import ProgressReporter

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.run.run import FallbackRecord, RunLimits, WorkflowUsage


@dataclass
class CallRecord:
    """Usage and fallbacks of one workflow, shared by its clients."""

    usage: WorkflowUsage = field(default_factory=WorkflowUsage)
    """Everything used so far."""
    fallbacks: list[FallbackRecord] = field(default_factory=list)
    """Decisions that a fallback made instead of a model."""


@dataclass
class ActivityClient:
    """Client of one workflow for the activities of one subject."""

    _workflow: ControllableWorkflow
    _limits: RunLimits
    _lease: BudgetLease
    """Budget from which a call reserves."""
    _record: CallRecord
    """Account of the calls."""
    _progress: ProgressReporter
    """Reporter that sends the news before a long call."""
