"""Find tables, run SQL over them, and store what programs compute from them."""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translate_errors
from activities.heartbeat import HeartbeatThread
from tenure.contracts.evidence.computing import ComputationReply, ComputationRequest, TableFileReply, TableFileRequest
from tenure.contracts.evidence.tables import QueryReply, QueryRequest, TablesReply, TablesRequest

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class TableActivities:
    """Activities on the tables of one knowledge base; synchronous, executed in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Use `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def find_tables(self, request: TablesRequest) -> TablesReply:
        """Return the tables that a question may be about."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.tables.list_tables(request)

    @activity.defn
    def query_tables(self, request: QueryRequest) -> QueryReply:
        """Run one SELECT and store its result."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.tables.query(request)

    @activity.defn
    def export_query(self, request: TableFileRequest) -> TableFileReply:
        """Run one SELECT and return its result as a file."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.tables.export_result(request)

    @activity.defn
    def store_computation(self, request: ComputationRequest) -> ComputationReply:
        """Store the output of a program so that it can be cited."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.tables.store_computation(request)
