"""IngestWorkflow: bring a corpus into the state of its files, durably.

Once everything is read the corpus can be searched; whoever waits for this workflow waits for all vectors as well.
"""

from temporalio import workflow

from workflows.runtime.calls import ingest
from workflows.upkeep.embed import embedding

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.evidence.corpora import EmbedRequest, IngestReport, IngestRequest


@workflow.defn
class IngestWorkflow:
    """Reads documents into a corpus."""

    @workflow.run
    async def run(self, request: IngestRequest) -> IngestReport:
        """Read what is new or changed, remove what is gone, embed what has no vector."""
        report = await ingest(request)
        if not report.pending:
            return report
        made = await embedding(EmbedRequest(corpus=request.corpus))
        seconds = report.seconds + made.seconds
        return report.model_copy(update={"pending": 0, "embedded": report.embedded + made.embedded, "seconds": seconds})
