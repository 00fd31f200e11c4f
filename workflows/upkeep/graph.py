"""GraphWorkflow: what an entity is related to, asked where the knowledge base is."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

from workflows.runtime.activity_options import SILENCE
from workflows.runtime.task_queues import EMBED_QUEUE

with workflow.unsafe.imports_passed_through():
    from activities.graph import GraphActivities
    from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest


@workflow.defn
class GraphWorkflow:
    """Looks an entity up."""

    @workflow.run
    async def run(self, request: RelatedRequest) -> RelatedReply:
        """Ask the knowledge base."""
        return await workflow.execute_activity_method(
            GraphActivities.related,
            request,
            task_queue=EMBED_QUEUE,
            start_to_close_timeout=timedelta(minutes=5),
            heartbeat_timeout=SILENCE,
            retry_policy=RetryPolicy(maximum_attempts=3),
            summary=request.entity[:200],
        )
