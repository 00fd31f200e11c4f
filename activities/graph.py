"""Graph activities: what an entity is related to, and which passages are still to be read for it."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translated
from activities.heartbeat import Beat
from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest, UnreadReply, UnreadRequest

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class GraphActivities:
    """The graph of one knowledge base. Synchronous: they run in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Use `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def related(self, request: RelatedRequest) -> RelatedReply:
        """Tell what an entity is related to."""
        with translated(), Beat():
            return self._knowledge.related(request)

    @activity.defn
    def unread(self, request: UnreadRequest) -> UnreadReply:
        """List passages whose relations no model has read."""
        with translated(), Beat():
            return self._knowledge.unread(request)

    @activity.defn
    def refresh_relations(self, corpus: str) -> None:
        """Bring the relations of a corpus into the state of what was read."""
        with translated(), Beat():
            self._knowledge.refresh_relations(corpus)
