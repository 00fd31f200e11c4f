"""Search the knowledge base and query tables within the run's budget of searches.

All searches that a workflow makes at the same moment are executed by one activity, since each activity costs several
history events. If the corpora hold passages in another language than a query, a model translates the queries of such a
moment in one call, and what their translations find is merged with what they find.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, RetryState

from workflows.runtime.activity_options import execute_activity
from workflows.runtime.call_record import ActivityClient
from workflows.runtime.failures import describe_failure
from workflows.runtime.model_client import ModelClient
from workflows.runtime.optional_step import get_step_limit
from workflows.runtime.web_client import WebClient

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.algorithms.control.search_batches import split_searches
    from tenure.algorithms.control.usage import add_search
    from tenure.algorithms.retrieval.evidence_selection import merge_translations, select_evidence
    from tenure.contracts.evidence.computing import TableFileReply, TableFileRequest
    from tenure.contracts.evidence.passages import (
        FailedSearch,
        PassageRef,
        SearchReply,
        SearchRequest,
    )
    from tenure.contracts.evidence.rerank import RerankOptions
    from tenure.contracts.evidence.tables import QueryReply, QueryRequest
    from tenure.contracts.run.budget import BudgetAmounts
    from tenure.contracts.run.run import FallbackRecord
    from tenure.roles.retrieval import query_translator
    from tenure.roles.retrieval.query_translator import QueryTranslatorInput

ReplyFuture = asyncio.Future["SearchReply"]
"""Result of a search, for the coroutine that waits for it."""
Translations = Mapping[tuple[str, str], str]
"""Translations by query and language."""
Translator = Callable[[Mapping[str, Sequence[str]]], Awaitable[Translations]]
"""Translates queries, each into its languages."""


@dataclass
class _Batch:
    """Searches that wait for the end of the current moment."""

    task: asyncio.Task[None]
    """Executes them."""
    searches: list[tuple[SearchRequest, ReplyFuture]] = field(default_factory=list)
    """The searches and their results."""


class SearchBatches:
    """Searches of one workflow: those of the same moment are executed by one activity."""

    def __init__(self, translate: Translator | None = None) -> None:
        """Create batches; without a translator, passages in other languages are searched with the query as it is."""
        self._translate = translate
        # Searches of steps with different limits are executed by different activities.
        self._open: dict[timedelta | None, _Batch] = {}

    async def search(self, request: SearchRequest) -> SearchReply:
        """Return the passages of a search that is executed with all others of this moment.

        Raises:
            ActivityError: the search has failed permanently.
        """
        limit = get_step_limit()
        if limit not in self._open:
            self._open[limit] = _Batch(asyncio.create_task(self._execute(limit)))
        batch = self._open[limit]
        reply: ReplyFuture = asyncio.get_running_loop().create_future()
        batch.searches.append((request, reply))
        try:
            return await reply
        except asyncio.CancelledError:
            if all(other.done() for _, other in batch.searches):
                batch.task.cancel()
                if self._open.get(limit) is batch:
                    del self._open[limit]
            raise

    async def _execute(self, limit: timedelta | None) -> None:
        """Wait until no coroutine adds a search any more, and execute them."""
        searches, count = self._open[limit].searches, 0
        while count < len(searches):
            count = len(searches)
            await workflow.wait_condition(lambda: True)  # all coroutines that can continue go first
        del self._open[limit]
        pending = [(request, reply) for request, reply in searches if not reply.done()]
        replies = iter([reply for _, reply in pending])
        batches = split_searches([request for request, _ in pending])
        await asyncio.gather(*(self._execute_batch(batch, [next(replies) for _ in batch]) for batch in batches))

    async def _execute_batch(self, searches: Sequence[SearchRequest], replies: Sequence[ReplyFuture]) -> None:
        """Execute searches by one activity, and give each waiting coroutine its result."""
        try:
            results = await _search(searches)
            if self._translate:
                results = await self._search_translations(self._translate, searches, results)
        except ActivityError as error:
            for reply in replies:
                if not reply.done():
                    reply.set_exception(error)
            return
        for reply, result in zip(replies, results, strict=True):
            if reply.done():
                continue
            if isinstance(result, FailedSearch):
                reply.set_exception(_build_error(result))
            else:
                reply.set_result(result)

    async def _search_translations(
        self, translate: Translator, searches: Sequence[SearchRequest], results: Sequence[SearchReply | FailedSearch]
    ) -> Sequence[SearchReply | FailedSearch]:
        """Return the results, with what translations of the queries find in other languages of the corpora."""
        found = {n: reply for n, reply in enumerate(results) if isinstance(reply, SearchReply)}
        languages = {searches[n].query: reply.foreign_languages for n, reply in found.items()}
        foreign = {query: names for query, names in languages.items() if names}
        translations = await translate(foreign) if foreign else {}
        further = {
            (n, language): searches[n].model_copy(update={"query": translations[searches[n].query, language]})
            for n, reply in found.items()
            for language in reply.foreign_languages
            if (searches[n].query, language) in translations
        }
        batches = await asyncio.gather(*map(_search, split_searches(list(further.values()))))
        merged: dict[int, dict[str, SearchReply]] = {}
        for (n, language), reply in zip(further, (reply for batch in batches for reply in batch), strict=True):
            if isinstance(reply, SearchReply):
                merged.setdefault(n, {})[language] = reply
        return [
            merge_translations(searches[n], found[n], merged[n]) if n in merged else result
            for n, result in enumerate(results)
        ]


async def _search(searches: Sequence[SearchRequest]) -> Sequence[SearchReply | FailedSearch]:
    """Execute searches by one activity."""
    summary = "; ".join(search.query for search in searches)
    answer = await execute_activity(
        KnowledgeActivities.search_passages, tuple(searches), summary=summary, count=len(searches)
    )
    return answer.replies


def _build_error(failed: FailedSearch) -> ActivityError:
    """Return the error of one search of an activity that has executed the others."""
    error = ActivityError(
        "Search failed",
        scheduled_event_id=0,
        started_event_id=0,
        identity="",
        activity_type=KnowledgeActivities.search_passages.__name__,
        activity_id="",
        retry_state=RetryState.NON_RETRYABLE_FAILURE,
    )
    error.__cause__ = ApplicationError(failed.message, type=failed.type, non_retryable=True)
    return error


@dataclass
class KnowledgeClient(ActivityClient):
    """Client for searches, which count against the budget."""

    _models: ModelClient
    """Client with which results are reranked if the limits say so."""
    _web: WebClient | None
    """Client with which web pages are read first; None for no access."""
    _batches: SearchBatches = field(init=False)

    def __post_init__(self) -> None:
        """Translate queries if there is a model."""
        self._batches = SearchBatches(self._translate if self._limits.has_model else None)

    async def search(
        self,
        request: SearchRequest,
        *,
        min_relevance: float | None = None,
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
        reply = await self._batches.search(complete)
        self._record.usage = add_search(self._record.usage, reply)
        minimum = self._limits.min_relevance if min_relevance is None else min_relevance
        return select_evidence(reply.passages, minimum)

    async def query(self, request: QueryRequest, *, summary: str) -> QueryReply:
        """Run a SQL query; the reply is empty if the budget does not cover it."""
        if not await self._reserve_search():
            return QueryReply()
        reply = await execute_activity(KnowledgeActivities.query_tables, request, summary=summary)
        self._record.usage = add_search(self._record.usage)
        return reply

    async def export_query(self, request: TableFileRequest, *, summary: str) -> TableFileReply:
        """Run a SQL query and return its result as a file; it counts as one search."""
        if not await self._reserve_search():
            return TableFileReply(problem="the budget of searches was used up")
        reply = await execute_activity(KnowledgeActivities.export_query, request, summary=summary)
        self._record.usage = add_search(self._record.usage)
        return reply

    async def _reserve_search(self) -> bool:
        """Reserve one search if searches are limited; return whether it may take place."""
        await self._workflow.wait_while_paused()
        search = BudgetAmounts(searches=1)
        unlimited = self._workflow.apply_budget_revision(self._limits).max_searches is None
        granted = unlimited or await self._lease.reserve(search, search) is not None
        await self._workflow.wait_while_paused()
        return granted

    def _default_reranking(self) -> RerankOptions:
        """Return the run's reranking options; ages of documents are counted from the day of the search."""
        options = self._limits.rerank
        if options.recency is None or options.recency.as_of is not None:
            return options
        today = options.recency.model_copy(update={"as_of": workflow.now().date()})
        return options.model_copy(update={"recency": today})

    async def _translate(self, languages: Mapping[str, Sequence[str]]) -> Translations:
        """Have queries translated, all in one call; a query without a translation is searched as it is."""
        queries = tuple(languages)
        sought = tuple(dict.fromkeys(language for names in languages.values() for language in names))
        input = QueryTranslatorInput(queries=queries, languages=sought)
        try:
            output = await self._models.ask(query_translator.ROLE, input, summary=f"{', '.join(sought)}: {queries[0]}")
        except ActivityError as error:
            self._record.fallbacks.append(
                FallbackRecord(role=query_translator.ROLE.name, reason=describe_failure(error))
            )
            return {}
        return {(queries[entry.query - 1], entry.language): entry.text for entry in output.translations}
