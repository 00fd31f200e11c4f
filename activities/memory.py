"""Store, write, search, list, forget and consolidate memories."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translate_errors
from activities.heartbeat import HeartbeatThread
from tenure.contracts.knowledge.maintenance import UpkeepProgress
from tenure.contracts.knowledge.memory import (
    ConsolidationRequest,
    ConsolidationStepReport,
    ForgetReply,
    ForgetRequest,
    MemoriesReply,
    MemoriesRequest,
    MemorySearchReply,
    MemorySearchRequest,
    RememberReply,
    RememberRequest,
    WriteMemoryReply,
    WriteMemoryRequest,
)
from tenure.contracts.research.learning import Experience, ExperienceRequest
from tenure.knowledge.experience import recall_experience

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class MemoryActivities:
    """Activities on the memories of one knowledge base; synchronous, executed in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Use `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def store_memories(self, request: RememberRequest) -> RememberReply:
        """Store memories."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.memories.remember(request)

    @activity.defn
    def write_memory(self, request: WriteMemoryRequest) -> WriteMemoryReply:
        """Store a memory that a person has written, or replace the text of a stored one."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.memories.write(request)

    @activity.defn
    def search_memories(self, request: MemorySearchRequest) -> MemorySearchReply:
        """Return the memories nearest to a query."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.memories.recall(request)

    @activity.defn
    def recall_experience(self, request: ExperienceRequest) -> Experience:
        """Return the knowledge of earlier runs with which a run starts."""
        with translate_errors(), HeartbeatThread():
            knowledge = self._knowledge
            return recall_experience(knowledge.memories, knowledge.retrieval, knowledge.results, request)

    @activity.defn
    def list_memories(self, request: MemoriesRequest) -> MemoriesReply:
        """Return one page of memories."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.memories.list_page(request)

    @activity.defn
    def consolidate_memories(self, request: ConsolidationRequest) -> ConsolidationStepReport:
        """Execute one step of a consolidation; the heartbeat's details are a `UpkeepProgress`."""
        with translate_errors(), HeartbeatThread(UpkeepProgress(step=request.step)) as heartbeat:
            return self._knowledge.memories.consolidate(request, heartbeat.update, activity.is_cancelled)

    @activity.defn
    def forget_memories(self, request: ForgetRequest) -> ForgetReply:
        """Delete memories."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.memories.forget(request)
