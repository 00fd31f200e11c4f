"""Workflows that stand where a run stands, and only let one part of it work, for benchmarks of that part."""

from temporalio import workflow

from workflows.research.spiral import SpiralWorkflow
from workflows.research.subagent import SubagentWorkflow
from workflows.runtime.control import ControllableWorkflow

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.research.report import ProgressUpdate
    from tenure.contracts.research.spiral import SpiralRequest, SpiralResult, SubagentRequest, SubagentResult


class _StandIn(ControllableWorkflow):
    """Hears what its part reports."""

    @workflow.signal
    async def report_progress(self, update: ProgressUpdate) -> None:
        """Hear how far the part is, and do nothing about it."""


@workflow.defn
class StandInWorkflow(_StandIn):
    """Starts a spiral."""

    @workflow.run
    async def run(self, request: SpiralRequest) -> SpiralResult:
        """Return what the spiral has gathered."""
        return await workflow.execute_child_workflow(SpiralWorkflow.run, request, id=f"{request.run}/spiral")


@workflow.defn
class TaskStandInWorkflow(_StandIn):
    """Sends a subagent."""

    @workflow.run
    async def run(self, request: SubagentRequest) -> SubagentResult:
        """Return what the subagent has found."""
        return await workflow.execute_child_workflow(SubagentWorkflow.run, request, id=f"{request.run}/task")
