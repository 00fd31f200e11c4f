"""Look up the relations of an entity where the knowledge base is."""

from temporalio import workflow

from workflows.runtime.activity_options import RETRY_BRIEFLY, execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest


@workflow.defn
class GraphWorkflow:
    """Workflow that looks up the relations of one entity for a person."""

    @workflow.run
    async def run(self, request: RelatedRequest) -> RelatedReply:
        """Find the relations of the entity."""
        return await execute_activity(
            KnowledgeActivities.find_relations, request, summary=request.entity, retry_policy=RETRY_BRIEFLY
        )
