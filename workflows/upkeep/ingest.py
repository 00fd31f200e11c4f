"""Bring a corpus into the state of its files, durably.

The corpus can be searched as soon as everything is read; the workflow ends when all vectors are computed as well.
"""

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.evidence.corpora import IngestReport, IngestRequest


@workflow.defn
class IngestWorkflow:
    """Workflow that reads documents into a corpus."""

    @workflow.run
    async def run(self, request: IngestRequest) -> IngestReport:
        """Read new and changed files, remove deleted ones, embed chunks without a vector."""
        report = await execute_activity(
            KnowledgeActivities.ingest_corpus, request, summary=f"read corpus {request.corpus}"
        )
        if not report.pending:
            return report
        embedded = await execute_activity(
            KnowledgeActivities.embed_corpus, request.corpus, summary=f"embed corpus {request.corpus}"
        )
        return report.model_copy(
            update={
                "pending": 0,
                "embedded": report.embedded + embedded.embedded,
                "seconds": report.seconds + embedded.seconds,
            }
        )
