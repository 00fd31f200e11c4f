"""CorpusWorkflow: what corpora hold, asked where the knowledge base is."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

from workflows.runtime.task_queues import EMBED_QUEUE

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.evidence.corpora import CorpusReply, CorpusRequest


@workflow.defn
class CorpusWorkflow:
    """Lists, describes or drops corpora."""

    @workflow.run
    async def run(self, request: CorpusRequest) -> CorpusReply:
        """Ask the knowledge base."""
        return await workflow.execute_activity_method(
            KnowledgeActivities.corpora,
            request,
            task_queue=EMBED_QUEUE,
            start_to_close_timeout=timedelta(minutes=2),
            retry_policy=RetryPolicy(maximum_attempts=3),
            summary=request.action,
        )
