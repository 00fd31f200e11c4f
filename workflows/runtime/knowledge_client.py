"""Search the knowledge base and query tables within the run's budget of searches."""

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity
from workflows.runtime.budget import BudgetLease
from workflows.runtime.call_record import CallRecord
from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.model_client import ModelClient
from workflows.runtime.web_client import WebClient

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from activities.tables import TableActivities
    from tenure.algorithms.control.usage import add_search
    from tenure.algorithms.retrieval.evidence_selection import select_evidence
    from tenure.algorithms.retrieval.reranking import complete_ranking
    from tenure.contracts.evidence.computing import TableFileReply, TableFileRequest
    from tenure.contracts.evidence.passages import PassageRef, SearchRequest
    from tenure.contracts.evidence.rerank import RerankOptions
    from tenure.contracts.evidence.tables import QueryReply, QueryRequest
    from tenure.contracts.run.budget import BudgetAmounts
    from tenure.contracts.run.run import RunLimits
    from tenure.roles.retrieval import reranker
    from tenure.roles.retrieval.reranker import RerankerInput


class KnowledgeClient:
    """Client for searches, which count against the budget."""

    def __init__(
        self,
        workflow_: ControllableWorkflow,
        limits: RunLimits,
        lease: BudgetLease,
        record: CallRecord,
        models: ModelClient,
        web: WebClient | None,
    ) -> None:
        """Rerank with `models` and read web pages with `web` where the limits say so."""
        self._workflow = workflow_
        self._limits = limits
        self._lease = lease
        self._record = record
        self._models = models
        self._web = web

    async def search(
        self,
        request: SearchRequest,
        min_relevance: float,
        *,
        summary: str,
        browse: bool = True,
        keep_mode: bool = False,
    ) -> tuple[PassageRef, ...]:
        """Search and return the passages that are relevant enough to be evidence.

        The result is empty if nothing is relevant or the budget does not cover the search. The run's filters are
        added to those of the request, and its reranking applies unless the request has its own. The search mode that
        a user has chosen for the run replaces that of the request, unless `keep_mode` is on. If the run may read the
        web, pages on the query are read first, unless `browse` is off.
        """
        if not await self._reserve_search():
            return ()
        if self._web and browse and not request.sources:
            await self._web.look_up(request.query)
            await self._workflow.wait_while_paused()
        rerank = request.rerank if request.rerank.is_enabled else self._default_reranking()
        filters = (*self._limits.filters, *request.filters)
        mode = request.mode if keep_mode else self._limits.search_mode or request.mode
        complete = request.model_copy(update={"rerank": rerank, "filters": filters, "mode": mode})
        reply = await execute_activity(KnowledgeActivities.search_passages, complete, summary=summary)
        self._record.usage = add_search(self._record.usage, reply.embedded_share, lacks_links=reply.lacks_links)
        return await self._rerank_listwise(request.query, select_evidence(reply.passages, min_relevance))

    async def query(self, request: QueryRequest, *, summary: str) -> QueryReply:
        """Run a SQL query; the reply is empty if the budget does not cover it."""
        if not await self._reserve_search():
            return QueryReply()
        reply = await execute_activity(TableActivities.query_tables, request, summary=summary)
        self._record.usage = add_search(self._record.usage)
        return reply

    async def export_query(self, request: TableFileRequest, *, summary: str) -> TableFileReply:
        """Run a SQL query and return its result as a file; it counts as one search."""
        if not await self._reserve_search():
            return TableFileReply(problem="the budget of searches was used up")
        reply = await execute_activity(TableActivities.export_query, request, summary=summary)
        self._record.usage = add_search(self._record.usage)
        return reply

    async def _reserve_search(self) -> bool:
        """Reserve one search if searches are limited; return whether it may take place."""
        await self._workflow.wait_while_paused()
        one = BudgetAmounts(searches=1)
        unlimited = self._workflow.apply_budget_revision(self._limits).max_searches is None
        granted = unlimited or await self._lease.reserve(one, one) is not None
        await self._workflow.wait_while_paused()
        return granted

    def _default_reranking(self) -> RerankOptions:
        """Return the run's reranking options; ages of documents are counted from the day of the search."""
        options = self._limits.rerank
        if options.recency is None or options.recency.as_of is not None:
            return options
        today = options.recency.model_copy(update={"as_of": workflow.now().date()})
        return options.model_copy(update={"recency": today})

    async def _rerank_listwise(self, query: str, passages: tuple[PassageRef, ...]) -> tuple[PassageRef, ...]:
        """Let the chat model order the passages, if the run is configured to."""
        if not self._limits.rerank_listwise or len(passages) < 2:
            return passages
        ranking = await self._models.ask(reranker.ROLE, RerankerInput(query=query), passages, summary=query)
        return tuple(passages[position] for position in complete_ranking(len(passages), ranking.order))
