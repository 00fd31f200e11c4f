"""Write, list, search and forget memories where the knowledge base is."""

from temporalio import workflow

from workflows.runtime.activity_options import RETRY_BRIEFLY, execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.memory import MemoryActivities
    from tenure.contracts.knowledge.memory import MemoryReply, MemoryRequest


@workflow.defn
class MemoryWorkflow:
    """Workflow that writes, lists, searches or forgets memories for a person."""

    @workflow.run
    async def run(self, request: MemoryRequest) -> MemoryReply:
        """Execute the parts of the request."""
        reply = MemoryReply()
        if request.write is not None:
            written = await execute_activity(MemoryActivities.write_memory, request.write, summary="write a memory")
            reply = reply.model_copy(update={"written": written})
        if request.forget is not None:
            forgotten = await execute_activity(
                MemoryActivities.forget_memories, request.forget, summary="forget memories"
            )
            reply = reply.model_copy(update={"forgotten": forgotten})
        if request.search is not None:
            found = await execute_activity(
                MemoryActivities.search_memories,
                request.search,
                summary="search memories",
                retry_policy=RETRY_BRIEFLY,
            )
            reply = reply.model_copy(update={"found": found})
        if request.page is not None:
            page = await execute_activity(MemoryActivities.list_memories, request.page, summary="list memories")
            reply = reply.model_copy(update={"page": page})
        return reply
