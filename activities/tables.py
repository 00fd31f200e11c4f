"""Table activities: which tables there are, SQL over them, and what programs compute from them.

Beside the knowledge base, where the files are; the programs themselves run elsewhere, and get the tables as text.
"""

from typing import TYPE_CHECKING

from temporalio import activity

from activities.errors import translated
from activities.heartbeat import Beat
from tenure.contracts.evidence.computing import ComputationReply, ComputationRequest, TableFileReply, TableFileRequest
from tenure.contracts.evidence.tables import QueryReply, QueryRequest, TablesReply, TablesRequest

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase


class TableActivities:
    """Tables of one knowledge base. Synchronous: they run in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase") -> None:
        """Use `knowledge`."""
        self._knowledge = knowledge

    @activity.defn
    def tables(self, request: TablesRequest) -> TablesReply:
        """Find the tables that a question may be about."""
        with translated(), Beat():
            return self._knowledge.tables(request)

    @activity.defn
    def query(self, request: QueryRequest) -> QueryReply:
        """Run one SELECT and keep its result."""
        with translated(), Beat():
            return self._knowledge.query(request)

    @activity.defn
    def table_file(self, request: TableFileRequest) -> TableFileReply:
        """Run one SELECT and return its result as a file."""
        with translated(), Beat():
            return self._knowledge.table_file(request)

    @activity.defn
    def keep_computation(self, request: ComputationRequest) -> ComputationReply:
        """Keep what a program printed, so that it can be cited."""
        with translated(), Beat():
            return self._knowledge.keep_computation(request)
