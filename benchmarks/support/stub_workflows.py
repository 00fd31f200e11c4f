"""Workflows that replace a run and execute only one part of it."""

from temporalio import workflow

from workflows.research.spiral import SpiralWorkflow
from workflows.research.subagent import SubagentWorkflow
from workflows.runtime.control import ControllableWorkflow

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.research.progress import ProgressUpdate
    from tenure.contracts.research.spiral import SpiralRequest, SpiralResult, SubagentRequest, SubagentResult


class _Stub(ControllableWorkflow):
    """Hears what its part reports."""

    @workflow.signal
    async def report_progress(self, update: ProgressUpdate) -> None:
        """Hear how far the part is, and do nothing about it."""


@workflow.defn
class StubWorkflow(_Stub):
    """Workflow that starts a research loop."""

    @workflow.run
    async def run(self, request: SpiralRequest) -> SpiralResult:
        """Return the result of the research loop."""
        return await workflow.execute_child_workflow(SpiralWorkflow.run, request, id=f"{request.run}/spiral")


@workflow.defn
class TaskStubWorkflow(_Stub):
    """Workflow that starts a subagent."""

    @workflow.run
    async def run(self, request: SubagentRequest) -> SubagentResult:
        """Return the result of the subagent."""
        return await workflow.execute_child_workflow(SubagentWorkflow.run, request, id=f"{request.run}/task")
