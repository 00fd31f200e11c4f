"""IngestWorkflow: bring a corpus into the state of its files, durably."""

from temporalio import workflow

from workflows.calls import ingest

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.corpus import IngestReport, IngestRequest


@workflow.defn
class IngestWorkflow:
    """Reads documents into a corpus."""

    @workflow.run
    async def run(self, request: IngestRequest) -> IngestReport:
        """Read what is new or changed, remove what is gone."""
        return await ingest(request)
