"""List, describe, search or drop corpora where the knowledge base is."""

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.evidence.corpora import CorpusReply, CorpusRequest


@workflow.defn
class CorpusWorkflow:
    """Workflow that lists, describes, searches or drops corpora."""

    @workflow.run
    async def run(self, request: CorpusRequest) -> CorpusReply:
        """Execute the request."""
        return await execute_activity(KnowledgeActivities.manage_corpora, request, summary=request.action)
