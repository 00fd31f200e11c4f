"""Recall memories of earlier runs when a run starts, and store new ones when it ends.

A failure of the memory costs the run a note and nothing else. The question as a whole is searched in any case:
memories supplement that search and are not evidence.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from activities.memory import MemoryActivities
    from tenure.algorithms.memory import experience, known_facts, lessons
    from tenure.contracts.base import RunId
    from tenure.contracts.evidence.tables import get_database_corpus
    from tenure.contracts.knowledge.memory import (
        MemorySearchReply,
        MemorySearchRequest,
        NewMemory,
        RememberRequest,
        ScoredMemory,
    )
    from tenure.contracts.research.learning import (
        Experience,
        InheritReply,
        InheritRequest,
        ProgramExperience,
        RelatedRun,
    )
    from tenure.contracts.research.report import ReportDraft
    from tenure.contracts.result.result import Result
    from tenure.contracts.run.run import RunRequest

MAX_RECALLED_MEMORIES: Final = 40
"""Memories of earlier runs, not counting the facts they found."""
MEMORY_TIMEOUT: Final = timedelta(minutes=5)
"""Time that a run waits for its memory."""

T = TypeVar("T")


class RunMemory:
    """Memory of one run's owner, as the run uses it."""

    def __init__(self, workflow_: ControllableWorkflow, clients: ActivityClients, request: RunRequest) -> None:
        """Use the memory of the run's owner, if the request enables it."""
        self._workflow, self._clients, self._request = workflow_, clients, request
        self._run = RunId(workflow.info().workflow_id)
        self._owner = workflow.info().priority.fairness_key or ""
        # Findings of earlier runs in other corpora are not recalled.
        databases = map(get_database_corpus, request.databases)
        self._readable = tuple(dict.fromkeys((*request.corpora, *databases)))
        self.notes: list[str] = []
        self.preferences: tuple[str, ...] = ()
        self.lessons: tuple[str, ...] = ()
        self._recall_notes: list[str] = []
        self._recalling: asyncio.Task[Experience | None] | None = None

    def start_recall(self) -> None:
        """Start to recall the experience of earlier runs, which `recall` returns."""
        if self._request.memory:
            recalling = self._try_call(self._recall, "Earlier runs could not be recalled", self._recall_notes)
            self._recalling = asyncio.create_task(recalling)

    async def recall(self) -> Experience:
        """Return the experience of earlier runs."""
        if self._recalling is None:
            self.start_recall()
        recalled = (await self._recalling if self._recalling else None) or Experience()
        self.preferences = recalled.preferences
        self.notes += self._recall_notes
        return recalled

    async def _try_call(self, call: Callable[[], Awaitable[T]], failure: str, notes: list[str]) -> T | None:
        """Return the result of a call, or note the failure and return None if it fails or takes too long."""
        await self._workflow.wait_while_paused()
        try:
            return await asyncio.wait_for(call(), MEMORY_TIMEOUT.total_seconds())
        except TimeoutError:
            notes.append(f"{failure}: it took too long.")
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            notes.append(f"{failure}: {describe_failure(error)}")
        return None

    async def _recall(self) -> Experience:
        repeated = await self._find_repeated_runs()
        memories, facts = await asyncio.gather(self._search_runs(repeated), self._search_facts(repeated))
        related = experience.find_related_runs(memories.memories, self._run)
        inherited = await self._inherit((*related, *experience.find_runs_by_facts(facts, related, self._run)))
        return self._build_experience(memories, facts, related, inherited)

    async def _find_repeated_runs(self) -> tuple[RunId, ...]:
        """Return earlier runs on the same question since whose end no document has changed.

        A model has answered the prompts of such a run. Its answers are cached, and without the memories of that run the
        prompts are the same again. The web changes, and a run with fresh answers uses no cache.
        """
        request, limits = self._request, self._request.limits
        if not limits.has_model or limits.fresh or limits.web or not request.corpora:
            return ()
        search = MemorySearchRequest(
            query=request.question,
            owner=self._owner,
            kinds=("episodic",),
            limit=MAX_RECALLED_MEMORIES,
            corpora=self._readable,
            now=workflow.now(),
        )
        found = await self._clients.execute_activity(
            MemoryActivities.search_memories, search, summary=f"the same question: {request.question}"
        )
        same = experience.find_same_questions(found.memories, request.question, self._run)
        repeated = (await self._load_findings(same)).unchanged if same else ()
        if repeated:
            self._recall_notes.append(experience.describe_repeated_runs(repeated))
        return repeated

    async def _search_runs(self, without: tuple[RunId, ...]) -> MemorySearchReply:
        """Return memories of how earlier runs went and what they learned."""
        question = self._request.question
        request = MemorySearchRequest(
            query=question,
            owner=self._owner,
            kinds=("episodic", "procedural"),
            limit=MAX_RECALLED_MEMORIES,
            corpora=self._readable,
            without_runs=without,
            now=workflow.now(),
            used_by=self._run,
            include_strategies=True,
            include_preferences=True,
        )
        return await self._clients.execute_activity(MemoryActivities.search_memories, request, summary=question)

    async def recall_lessons(self) -> ProgramExperience:
        """Return the lessons of earlier programs, and the preferences."""
        if not self._request.memory:
            return ProgramExperience()
        failure = "Lessons of earlier programs could not be recalled"
        found = await self._try_call(self._search_lessons, failure, self.notes)
        if found is None:
            return ProgramExperience()
        self.lessons = lessons.select_lessons(found.memories)
        self.preferences = tuple(memory.text for memory in found.preferences)
        return ProgramExperience(lessons=self.lessons, preferences=self.preferences)

    async def _search_lessons(self) -> MemorySearchReply:
        question = self._request.question
        request = MemorySearchRequest(
            query=question,
            owner=self._owner,
            kinds=("procedural",),
            limit=MAX_RECALLED_MEMORIES,
            corpora=self._readable,
            now=workflow.now(),
            used_by=self._run,
            include_preferences=True,
        )
        return await self._clients.execute_activity(
            MemoryActivities.search_memories, request, summary=f"lessons: {question}"
        )

    async def _search_facts(self, without: tuple[RunId, ...]) -> tuple[ScoredMemory, ...]:
        """Return facts that earlier runs found; searched separately, so that they do not displace other memories."""
        question = self._request.question
        request = MemorySearchRequest(
            query=question,
            owner=self._owner,
            kinds=known_facts.FACT_KINDS,
            limit=known_facts.MAX_RECALLED_FACTS,
            corpora=self._readable,
            without_runs=without,
            now=workflow.now(),
            used_by=self._run,
        )
        reply = await self._clients.execute_activity(
            MemoryActivities.search_memories, request, summary=f"facts: {question}"
        )
        return reply.memories

    async def _inherit(self, related: tuple[RelatedRun, ...]) -> InheritReply:
        """Return the findings of related runs; a scheduled question repeats all searches instead."""
        request = self._request
        if not related or not request.corpora or request.scheduled:
            return InheritReply()
        return await self._load_findings(related)

    async def _load_findings(self, runs: tuple[RelatedRun, ...]) -> InheritReply:
        """Return the findings of runs, and which of them the documents have not changed since."""
        request = self._request
        return await self._clients.execute_activity(
            KnowledgeActivities.inherit_findings,
            InheritRequest(
                runs=runs,
                question=request.question,
                corpora=request.corpora,
                filters=request.limits.filters,
                min_relevance=request.limits.min_relevance,
            ),
            summary=f"findings of {len(runs)} related runs",
        )

    def _build_experience(
        self,
        memories: MemorySearchReply,
        facts: tuple[ScoredMemory, ...],
        related: tuple[RelatedRun, ...],
        inherited: InheritReply,
    ) -> Experience:
        # The web answers the same query differently from day to day.
        repeatable = not self._request.limits.web
        built = Experience(
            related=related,
            passages=inherited.passages,
            queries=experience.select_inherited_queries(memories.memories, related, inherited) if repeatable else (),
            records=memories.strategies,
            advice=experience.select_advice(memories.memories),
            facts=known_facts.select_known_facts(facts),
            preferences=tuple(memory.text for memory in memories.preferences),
        )
        self._recall_notes += experience.describe_experience(built)
        return built

    async def store(self, result: Result, draft: ReportDraft) -> Result:
        """Store the memories of this run; return the result, with a note if that failed."""
        memories = self._build_memories(result, draft) if self._request.memory else ()
        if not memories:
            return result
        notes: list[str] = []
        request = RememberRequest(memories=memories, owner=self._owner, now=workflow.now())
        summary = f"memories of “{result.question}”"
        await self._try_call(
            lambda: self._clients.execute_activity(MemoryActivities.store_memories, request, summary=summary),
            "The memories of this run could not be stored",
            notes,
        )
        return result.model_copy(update={"notes": (*result.notes, *notes)})

    def _build_memories(self, result: Result, draft: ReportDraft) -> tuple[NewMemory, ...]:
        """Return the memories of a run; none if it was routed to neither research nor code."""
        if draft.mode == "CODE":
            return lessons.build_program_memories(result, self._readable)
        if draft.mode != "RESEARCH":
            return ()
        # A query is remembered only if it was executed on whole corpora with all of their vectors.
        complete = not self._request.limits.filters and result.usage.embedded_share == 1
        return experience.build_memories(
            result, draft.strategy_outcomes, draft.queries if complete else (), self._readable
        )
