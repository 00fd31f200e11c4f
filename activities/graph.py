"""Query the graph of entities and relations."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translate_errors
from activities.heartbeat import HeartbeatThread
from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class GraphActivities:
    """Activities on the graph of one knowledge base; synchronous, executed in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Use `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def find_relations(self, request: RelatedRequest) -> RelatedReply:
        """Return the relations of an entity."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.graph.find_relations(request)
