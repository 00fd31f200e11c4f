"""Memory activities: remembering, being reminded, forgetting, and looking after memories."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translated
from activities.heartbeat import Beat
from tenure.contracts.knowledge.memory import (
    ConsolidationProgress,
    ConsolidationRequest,
    ConsolidationStepReport,
    ForgetReply,
    ForgetRequest,
    MemoriesReply,
    MemoriesRequest,
    Recollecting,
    Recollection,
    RememberReply,
    RememberRequest,
)

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class MemoryActivities:
    """The memories of one knowledge base. Synchronous: they run in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Use `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def remember(self, request: RememberRequest) -> RememberReply:
        """Keep impressions."""
        with translated(), Beat():
            return self._knowledge.memories.remember(request)

    @activity.defn
    def recollect(self, request: Recollecting) -> Recollection:
        """Return what comes to mind."""
        with translated(), Beat():
            return self._knowledge.memories.recollect(request)

    @activity.defn
    def list_memories(self, request: MemoriesRequest) -> MemoriesReply:
        """Return a page of memories."""
        with translated(), Beat():
            return self._knowledge.memories.page(request)

    @activity.defn
    def consolidate_memories(self, request: ConsolidationRequest) -> ConsolidationStepReport:
        """Do one step of a consolidation; the heartbeat's details are a `ConsolidationProgress`."""
        with translated(), Beat(ConsolidationProgress(step=request.step)) as beat:
            return self._knowledge.consolidate(request, beat.tell, activity.is_cancelled)

    @activity.defn
    def forget(self, request: ForgetRequest) -> ForgetReply:
        """Forget memories."""
        with translated(), Beat():
            return self._knowledge.memories.forget(request)
