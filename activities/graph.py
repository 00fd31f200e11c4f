"""Query the graph of entities and relations, and find passages whose relations are not extracted yet."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translate_errors
from activities.heartbeat import HeartbeatThread
from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest, UnreadReply, UnreadRequest

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

    @activity.defn
    def list_unread_passages(self, request: UnreadRequest) -> UnreadReply:
        """Return passages whose relations no model has extracted."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.graph.list_unread(request)

    @activity.defn
    def refresh_relations(self, corpus: str) -> None:
        """Update the graph of a corpus with the extracted relations."""
        with translate_errors(), HeartbeatThread():
            self._knowledge.graph.refresh_relations(corpus)
