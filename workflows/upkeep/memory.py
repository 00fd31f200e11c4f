"""Write, list, search and forget memories where the knowledge base is."""

from typing import Any

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
        replies: dict[str, Any] = {}
        if request.write is not None:
            writing = execute_activity(MemoryActivities.write_memory, request.write, summary="write a memory")
            replies["written"] = await writing
        if request.forget is not None:
            forgetting = execute_activity(MemoryActivities.forget_memories, request.forget, summary="forget memories")
            replies["forgotten"] = await forgetting
        if request.search is not None:
            replies["found"] = await execute_activity(
                MemoryActivities.search_memories, request.search, summary="search memories", retry_policy=RETRY_BRIEFLY
            )
        if request.page is not None:
            listing = execute_activity(MemoryActivities.list_memories, request.page, summary="list memories")
            replies["page"] = await listing
        return MemoryReply(**replies)
