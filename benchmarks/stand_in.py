"""A workflow that stands where a run stands, and only lets one spiral gather, for `benchmarks.spiral`."""

from temporalio import workflow

from workflows.spiral import SpiralWorkflow
from workflows.steering import Steered

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.research import ProgressUpdate
    from tenure.contracts.spiral import SpiralRequest, SpiralResult


@workflow.defn
class StandInWorkflow(Steered):
    """Starts a spiral and hears what it reports."""

    @workflow.run
    async def run(self, request: SpiralRequest) -> SpiralResult:
        """Return what the spiral has gathered."""
        return await workflow.execute_child_workflow(SpiralWorkflow.run, request, id=f"{request.run}/spiral")

    @workflow.signal
    async def progressed(self, update: ProgressUpdate) -> None:
        """Hear how far the spiral is, and do nothing about it."""
