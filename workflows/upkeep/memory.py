"""MemoryWorkflow: what is remembered, asked and forgotten where the knowledge base is."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy

from workflows.runtime.activity_options import SILENCE
from workflows.runtime.task_queues import EMBED_QUEUE

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.memory import MemoryActivities
    from tenure.contracts.knowledge.memory import MemoryReply, MemoryRequest

I = TypeVar("I", bound="BaseModel")  # noqa: E741 - I in, O out
O = TypeVar("O", bound="BaseModel")  # noqa: E741


@workflow.defn
class MemoryWorkflow:
    """Lists, searches or forgets memories."""

    @workflow.run
    async def run(self, request: MemoryRequest) -> MemoryReply:
        """Ask the knowledge base."""
        reply = MemoryReply()
        if request.forget is not None:
            reply = reply.model_copy(update={"forgot": await _asked(MemoryActivities.forget, request.forget)})
        if request.search is not None:
            reply = reply.model_copy(update={"found": await _asked(MemoryActivities.recollect, request.search)})
        if request.page is not None:
            reply = reply.model_copy(update={"page": await _asked(MemoryActivities.list_memories, request.page)})
        return reply


async def _asked(method: "Callable[[Any, I], O]", request: "I") -> "O":
    return await workflow.execute_activity_method(
        method,
        request,
        task_queue=EMBED_QUEUE,
        start_to_close_timeout=timedelta(minutes=30),
        heartbeat_timeout=SILENCE,
        retry_policy=RetryPolicy(maximum_attempts=3),
        summary=type(request).__name__,
    )
