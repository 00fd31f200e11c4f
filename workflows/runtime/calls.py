"""Calls from workflows to activities: queue, timeouts, retries, budget and accounts in one place.

No call starts while a person holds the run. What a call may use is reserved before it and settled
after it. Every finished call is counted, and what a twin had to answer is remembered, so that the
report can say so. Once a budget is used up the twins answer, which costs nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, TimeoutError, TimeoutType

from workflows.runtime.activity_options import ONCE, OUTAGE, PATIENCE, SILENCE
from workflows.runtime.budget import Purse, Till, unlimited
from workflows.runtime.control import Steered
from workflows.runtime.task_queues import EMBED_QUEUE, MODEL_QUEUE, SANDBOX_QUEUE, TENURE_QUEUE, WEB_QUEUE
from workflows.runtime.web import UNSERVED, PageRead, Web

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel

    from activities.graph import GraphActivities
    from activities.knowledge import KnowledgeActivities
    from activities.mcp import McpActivities
    from activities.memory import MemoryActivities
    from activities.report import ReportActivities
    from activities.roles import RoleActivities
    from activities.sandbox import SandboxActivities
    from activities.tables import TableActivities
    from activities.tools import ToolActivities
    from tenure.algorithms.control import budget
    from tenure.algorithms.control.usage import browsed, counted, searched
    from tenure.algorithms.retrieval.acceptance import evidence
    from tenure.algorithms.retrieval.reranking import listed
    from tenure.contracts.evidence.computing import (
        ComputationReply,
        ComputationRequest,
        TableFileReply,
        TableFileRequest,
    )
    from tenure.contracts.evidence.corpora import IngestReport, IngestRequest
    from tenure.contracts.evidence.passages import Claim, PassageRef, SearchRequest
    from tenure.contracts.evidence.rerank import Rerank
    from tenure.contracts.evidence.retrieval import GroupRequest, Recalled, RecallRequest
    from tenure.contracts.evidence.tables import QueryReply, QueryRequest, TablesReply, TablesRequest
    from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest
    from tenure.contracts.knowledge.memory import Recollecting, Recollection, RememberReply, RememberRequest
    from tenure.contracts.research.fork import Forked, ForkRequest
    from tenure.contracts.research.learning import Inherited, InheritRequest
    from tenure.contracts.research.report import ReportDraft
    from tenure.contracts.research.spiral import Analysis, AnalysisRequest
    from tenure.contracts.research.tools import (
        CalculateReply,
        CalculateRequest,
        CiteRequest,
        LookupReply,
        LookupRequest,
        McpCallReply,
        McpCallRequest,
        McpToolsReply,
        McpToolsRequest,
        Shown,
        ShowRequest,
    )
    from tenure.contracts.result.programs import ProgramRequest, RepairReply, RepairRequest, TrialRequest
    from tenure.contracts.result.result import Result
    from tenure.contracts.run.budget import Allowance, Amounts
    from tenure.contracts.run.role_calls import LONGEST_ANSWER, RoleCall, RoleReply, Turn, role_call
    from tenure.contracts.run.run import Degraded, Limits, Usage
    from tenure.contracts.sandbox import Outcome, SelfTest
    from tenure.roles.retrieval.reranker import RerankerInput

# Annotations with generic models are quoted: pydantic would make a class of each for every workflow that starts.
I = TypeVar("I", bound="BaseModel")  # noqa: E741 - I in, O out
O = TypeVar("O", bound="BaseModel")  # noqa: E741

EXCHANGE = timedelta(seconds=(budget.ANSWERS + 1) * LONGEST_ANSWER)
"""Time of one attempt of a call: every answer may take the longest that can be set, and wait for its turn before.
It is long, since a dead worker is noticed by its silence."""

MODEL_BUDGETS = ("tokens", "money", "calls")
"""Budgets of the model alone: when one is used up, the twins go on."""

SELECT = (timedelta(minutes=30), timedelta(hours=2))
"""Time of one attempt of a SELECT, which may be long in a large database, and of all of them."""

ASKED_AGAIN = 3
"""How often a worker with a sandbox is waited for: an outage of all workers counts as one time."""


class Talk:
    """A conversation that a workflow has with one role; after a turn that no model has answered it begins anew."""

    def __init__(self, turn: Turn) -> None:
        """Go on with a turn."""
        self.turn = turn


class Calls:
    """The calls of one workflow and what they used."""

    def __init__(self, steered: Steered, limits: Limits | None = None, till: Till = unlimited) -> None:
        """Wait for `steered` before every call, and draw from `till` where `limits` say so."""
        self._steered = steered
        self._limits = limits or Limits()
        self.purse = Purse(steered, self._limits, till, lambda: budget.used(self.usage))
        self._web = Web(steered, self._limits.web) if self._limits.web else None
        self.usage = Usage()
        self.degraded: list[Degraded] = []

    def go_on(self, usage: Usage, left: Amounts, draws: int) -> None:
        """Go on with what this workflow used and was granted before its history was begun anew."""
        self.usage = usage
        self.purse.go_on(left, draws)

    async def role(
        self,
        method: "Callable[[RoleActivities, RoleCall[I]], Awaitable[RoleReply[O]]]",
        input: I,
        evidence: Sequence[PassageRef] = (),
        *,
        summary: str,
        closing: bool = False,
        talk: "Talk | None" = None,
    ) -> O:
        """Ask a role.

        Args:
            method: the role's activity.
            input: what it is asked.
            evidence: what it may rest on, best first.
            summary: says in the web UI what about.
            closing: whether the report is being written up, for which a part of the budget is held back.
            talk: the conversation it belongs to; None for a question of its own.
        """
        await self._steered.ready()
        limits = self._steered.bounds(self._limits)
        prompt = input.model_dump_json() if limits.meters_calls else ""
        turn = talk.turn if talk else None

        def allowance(answers: int) -> Allowance:
            return budget.allowance(limits, prompt, len(evidence), answers, turn.tokens if turn else 0)

        answers, taken = await self._reserve(limits, allowance, closing=closing)
        number = self.purse.number
        await self._steered.ready()
        allowed = allowance(answers) if answers else None
        language = self._limits.language
        call = role_call(input, evidence, allowance=allowed, spent=taken is None, turn=turn, language=language)
        reply = await self._asked(method, call, summary)
        if talk:
            paid = reply.model_calls > 0
            talk.turn = talk.turn.next(reply.tokens_in + reply.tokens_out) if paid else talk.turn.anew()
        if taken is not None and limits.meters_calls:
            self.purse.give_back(taken, budget.used(counted(Usage(), "", reply)), number)
        self.usage = counted(self.usage, method.__name__, reply)
        if reply.degraded:
            self.degraded.append(Degraded(role=method.__name__, reason=reply.degraded))
        return reply.output

    async def _reserve(
        self, limits: Limits, allowance: Callable[[int], Allowance], *, closing: bool
    ) -> tuple[int, Amounts | None]:
        """Return how many answers a call may take, 0 for any number, and what is reserved.

        Nothing reserved, None, lets the twin answer.
        """
        stance = self._steered.stance
        if stance.overdue:
            return 0, None
        if not limits.meters_calls:
            return 0, Amounts()
        if stance.spent in MODEL_BUDGETS and not closing:
            return 0, None
        wanted, least = (budget.reserved(limits, allowance(answers)) for answers in (budget.ANSWERS, 1))
        taken = await self.purse.take(wanted, least, closing=closing)
        return (0 if taken is None else budget.ANSWERS if taken == wanted else 1), taken

    async def _asked(
        self,
        method: "Callable[[RoleActivities, RoleCall[I]], Awaitable[RoleReply[O]]]",
        call: "RoleCall[I]",
        summary: str,
    ) -> "RoleReply[O]":
        """Wait for the answer; when the run's time is up for good, for the twin's."""
        handle = workflow.start_activity_method(
            method,
            call,
            task_queue=MODEL_QUEUE,
            start_to_close_timeout=EXCHANGE,
            schedule_to_close_timeout=OUTAGE,
            heartbeat_timeout=SILENCE,
            retry_policy=PATIENCE,
            summary=summary[:200],
        )
        try:
            await workflow.wait_condition(lambda: handle.done() or (self._steered.stance.overdue and not call.spent))
        except asyncio.CancelledError:
            await _cancelled(handle)
            raise
        if not handle.done():
            await _cancelled(handle)
            return await self._asked(method, call.model_copy(update={"spent": True, "allowance": None}), summary)
        return await handle

    async def search(
        self, request: SearchRequest, min_relevance: float, *, summary: str, browse: bool = True
    ) -> tuple[PassageRef, ...]:
        """Search the knowledge base and keep what is evidence.

        A search that finds nothing relevant finds nothing; so does one that the budget does not cover. The run's
        filters are added to its own. Its second stage is the run's, unless it asks for one of its own. Where the
        run may read the web, pages on the query are read before, unless `browse` is off.
        """
        if not await self._search_is_left():
            return ()
        if self._web and browse and not request.sources:
            self.usage = browsed(self.usage, await self._web.look_up(request.query))
            await self._steered.ready()
        second = request.rerank if request.rerank.asked else self._second_stage()
        filters = (*self._limits.filters, *request.filters)
        asked = request.model_copy(update={"rerank": second, "filters": filters})
        reply = await _looked_up(KnowledgeActivities.search, asked, summary)
        self.usage = searched(self.usage, reply.embedded_share)
        return await self._listwise(request.query, evidence(reply.passages, min_relevance))

    async def confirm_links(self, result: Result) -> Result:
        """Look whether cited pages are still there, where the run may read the web and nobody waits for its end."""
        return await self._web.confirm(result) if self._web and not self._steered.stance.overdue else result

    async def open_web(self) -> None:
        """Make the corpus of the web's pages, where the run may read any."""
        if self._web:
            await self._web.open()

    def _second_stage(self) -> Rerank:
        """Return the run's second stage; ages of documents are counted from the day of the search."""
        wanted = self._limits.rerank
        if wanted.recency is None or wanted.recency.as_of is not None:
            return wanted
        today = wanted.recency.model_copy(update={"as_of": workflow.now().date()})
        return wanted.model_copy(update={"recency": today})

    async def _listwise(self, query: str, found: tuple[PassageRef, ...]) -> tuple[PassageRef, ...]:
        """Have the chat model put passages into order, where a person wants that."""
        if not self._limits.rerank_listwise or len(found) < 2:
            return found
        said = await self.role(RoleActivities.reranker, RerankerInput(query=query), found, summary=query)
        return tuple(found[place] for place in listed(len(found), said.order))

    async def analyze(self, request: AnalysisRequest, *, summary: str) -> Analysis:
        """Judge what a cycle of research has found."""
        await self._steered.ready()
        return await _looked_up(KnowledgeActivities.analyze, request, summary)

    async def fork(self, request: ForkRequest) -> Forked:
        """Take over what another run knew after a cycle of its research."""
        return await workflow.execute_activity_method(
            KnowledgeActivities.fork,
            request,
            task_queue=EMBED_QUEUE,
            start_to_close_timeout=timedelta(hours=1),
            schedule_to_close_timeout=OUTAGE,
            heartbeat_timeout=SILENCE,
            retry_policy=PATIENCE,
            summary=f"what {request.origin} knew after cycle {request.state.cycle}"[:200],
        )

    async def group(self, request: GroupRequest, *, summary: str) -> tuple[tuple[PassageRef, ...], ...]:
        """Group passages by what they are about."""
        await self._steered.ready()
        return (await _looked_up(KnowledgeActivities.group, request, summary)).groups

    async def recall(self, request: RecallRequest, *, summary: str) -> Recalled:
        """Look up what earlier research has accepted."""
        await self._steered.ready()
        return await _looked_up(KnowledgeActivities.recall, request, summary)

    async def related(self, request: RelatedRequest, *, summary: str) -> RelatedReply:
        """Look up what an entity is related to."""
        await self._steered.ready()
        return await _looked_up(GraphActivities.related, request, summary)

    async def calculate(self, request: CalculateRequest, *, summary: str) -> CalculateReply:
        """Calculate exactly."""
        await self._steered.ready()
        return await _looked_up(ToolActivities.calculate, request, summary)

    async def lookup(self, request: LookupRequest, *, summary: str) -> LookupReply:
        """Find a term to the letter."""
        await self._steered.ready()
        return await _looked_up(ToolActivities.lookup_term, request, summary)

    async def cite(self, request: CiteRequest, *, summary: str) -> Claim:
        """Find the words that speak of a claim."""
        await self._steered.ready()
        return await _looked_up(ToolActivities.cite_claim, request, summary)

    async def read_page(self, address: str, query: str) -> PageRead:
        """Read a page of the web, where the run may do so."""
        if self._web is None:
            return PageRead(problem="this run may not read the web")
        read = await self._web.read(address, query)
        self.usage = browsed(self.usage, len(read.sources))
        return read

    async def mcp_tools(self) -> McpToolsReply:
        """Ask the servers that the run may use for their tools."""
        if not self._limits.mcp:
            return McpToolsReply()
        await self._steered.ready()
        return await _asked_server(McpActivities.list_mcp_tools, McpToolsRequest(servers=self._limits.mcp), PATIENCE)

    async def call_mcp(self, request: McpCallRequest) -> McpCallReply:
        """Call a tool of a server that the run may use; never twice, since nobody knows what it does."""
        if request.call.server not in self._limits.mcp:
            return McpCallReply(problem=f"this run may not use the server {request.call.server!r}")
        await self._steered.ready()
        return await _asked_server(McpActivities.call_mcp_tool, request, ONCE)

    async def show(self, request: ShowRequest, *, summary: str) -> Shown:
        """Have passages told in short."""
        await self._steered.ready()
        return await _looked_up(ToolActivities.show_passages, request, summary)

    async def inherit(self, request: InheritRequest, *, summary: str) -> Inherited:
        """Look up what earlier runs on related questions leave."""
        await self._steered.ready()
        return await _looked_up(KnowledgeActivities.inherit, request, summary)

    async def remember(self, request: RememberRequest, *, summary: str) -> RememberReply:
        """Keep impressions."""
        await self._steered.ready()
        return await _looked_up(MemoryActivities.remember, request, summary)

    async def recollect(self, request: Recollecting, *, summary: str) -> Recollection:
        """Ask what is remembered."""
        await self._steered.ready()
        return await _looked_up(MemoryActivities.recollect, request, summary)

    async def tables(self, request: TablesRequest) -> TablesReply:
        """Find the tables that a question may be about."""
        await self._steered.ready()
        return await workflow.execute_activity_method(
            TableActivities.tables,
            request,
            task_queue=EMBED_QUEUE,
            start_to_close_timeout=timedelta(hours=1),
            schedule_to_close_timeout=timedelta(hours=2),
            heartbeat_timeout=SILENCE,
            retry_policy=PATIENCE,
            summary="which tables there are",
        )

    async def query(self, request: QueryRequest, *, summary: str) -> QueryReply:
        """Run a query; one that the budget does not cover brings nothing."""
        if not await self._search_is_left():
            return QueryReply()
        reply = await query(request, summary)
        self.usage = searched(self.usage)
        return reply

    async def table_file(self, request: TableFileRequest, *, summary: str) -> TableFileReply:
        """Run a query and return its result as a file; it counts as a search like any query."""
        if not await self._search_is_left():
            return TableFileReply(problem="the budget of searches was used up")
        reply = await _looked_up(TableActivities.table_file, request, summary, *SELECT)
        self.usage = searched(self.usage)
        return reply

    async def keep_computation(self, request: ComputationRequest, *, summary: str) -> ComputationReply:
        """Keep what a program printed as a source."""
        await self._steered.ready()
        return await _looked_up(TableActivities.keep_computation, request, summary)

    async def _search_is_left(self) -> bool:
        """Reserve a search, where searches are limited; tell whether there was one."""
        await self._steered.ready()
        one = Amounts(searches=1)
        free = self._steered.bounds(self._limits).max_searches is None
        left = free or await self.purse.take(one, one) is not None
        await self._steered.ready()
        return left

    async def look_at_sandbox(self, most: float | None = None) -> SelfTest | None:
        """Ask what the sandbox can run; None where no worker has one.

        It is waited for as long as the limits say, and not longer than so many seconds.
        """
        await self._steered.ready()
        seconds = self._limits.sandbox_wait if most is None else min(most, self._limits.sandbox_wait)
        wait = timedelta(seconds=seconds / ASKED_AGAIN)
        for _ in range(ASKED_AGAIN):
            try:
                return await workflow.execute_activity_method(
                    SandboxActivities.look_at_sandbox,
                    task_queue=SANDBOX_QUEUE,
                    schedule_to_start_timeout=wait,
                    start_to_close_timeout=timedelta(minutes=10),
                    heartbeat_timeout=SILENCE,
                    retry_policy=PATIENCE,
                    summary="what can be run",
                )
            except ActivityError as error:
                late = isinstance(error.cause, TimeoutError) and error.cause.type == TimeoutType.SCHEDULE_TO_START
                if not late:
                    raise
        return None

    async def run_tests(self, request: TrialRequest, *, summary: str) -> Outcome:
        """Test a candidate in the sandbox."""
        await self._steered.ready()
        return await _sandboxed(SandboxActivities.run_tests, request, request.trial.limits.wall_seconds, summary)

    async def run_program(self, request: ProgramRequest, *, summary: str) -> Outcome:
        """Run a program in the sandbox."""
        await self._steered.ready()
        return await _sandboxed(SandboxActivities.run_program, request, request.program.limits.wall_seconds, summary)

    async def repair(self, request: RepairRequest, *, summary: str) -> RepairReply:
        """Search for a small edit that makes a program pass its tests."""
        await self._steered.ready()
        longest = request.seconds + 2 * request.limits.wall_seconds
        return await _sandboxed(SandboxActivities.repair, request, longest, summary)

    async def ingest(self, request: IngestRequest) -> IngestReport:
        """Bring a corpus up to date."""
        await self._steered.ready()
        return await ingest(request)

    async def assemble(self, draft: ReportDraft) -> Result:
        """Turn the draft into the result document."""
        await self._steered.ready()
        return await workflow.execute_activity_method(
            ReportActivities.assemble,
            draft,
            task_queue=TENURE_QUEUE,
            start_to_close_timeout=timedelta(minutes=5),
            schedule_to_close_timeout=timedelta(hours=1),
            heartbeat_timeout=SILENCE,
            retry_policy=PATIENCE,
            summary="number the sources, check every quote",
        )


async def query(request: QueryRequest, summary: str) -> QueryReply:
    """Run one SELECT."""
    return await _looked_up(TableActivities.query, request, summary, *SELECT)


async def ingest(request: IngestRequest) -> IngestReport:
    """Run the ingestion of a corpus; interrupted ones go on where they were."""
    return await workflow.execute_activity_method(
        KnowledgeActivities.ingest,
        request,
        task_queue=EMBED_QUEUE,
        start_to_close_timeout=timedelta(hours=24),
        heartbeat_timeout=SILENCE,
        retry_policy=PATIENCE,
        summary=f"read corpus {request.corpus}",
    )


async def _looked_up(
    method: "Callable[[Any, I], O]",
    request: I,
    summary: str,
    attempt: timedelta = timedelta(minutes=5),
    in_all: timedelta = timedelta(hours=1),
) -> O:
    """Ask the knowledge base for what it answers within the time of an attempt."""
    return await workflow.execute_activity_method(
        method,
        request,
        task_queue=EMBED_QUEUE,
        start_to_close_timeout=attempt,
        schedule_to_close_timeout=in_all,
        heartbeat_timeout=SILENCE,
        retry_policy=PATIENCE,
        summary=summary[:200],
    )


async def _asked_server(method: "Callable[[Any, I], Awaitable[O]]", request: I, retries: RetryPolicy) -> O:
    """Ask servers of the Model Context Protocol."""
    return await workflow.execute_activity_method(
        method,
        request,
        task_queue=WEB_QUEUE,
        # Who has no worker that asks servers goes on without them.
        schedule_to_start_timeout=UNSERVED,
        start_to_close_timeout=timedelta(hours=1),
        heartbeat_timeout=SILENCE,
        retry_policy=retries,
        summary=method.__name__,
    )


async def _sandboxed(
    method: "Callable[[SandboxActivities, I], Awaitable[O]]", request: I, seconds: float, summary: str
) -> O:
    """Have something run in the sandbox that ends by itself after so many seconds."""
    return await workflow.execute_activity_method(
        method,
        request,
        task_queue=SANDBOX_QUEUE,
        start_to_close_timeout=timedelta(seconds=2 * seconds, minutes=5),
        schedule_to_close_timeout=OUTAGE,
        heartbeat_timeout=SILENCE,
        retry_policy=PATIENCE,
        summary=summary[:200],
    )


async def _cancelled(handle: workflow.ActivityHandle[Any]) -> None:
    """Cancel a call and see it end."""
    handle.cancel()
    with suppress(ActivityError, asyncio.CancelledError):
        await handle
