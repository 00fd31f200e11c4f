"""Recall memories of earlier runs when a run starts, and store new ones when it ends.

A failure of the memory costs the run a note and nothing else. The question as a whole is searched in any case.
Facts of earlier runs supplement that search and are no evidence. Statements of a person are evidence of their own kind.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from temporalio import workflow

from workflows.runtime.clients import ActivityClients
from workflows.runtime.optional_step import run_optional_step

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.algorithms.control.run_notes import describe_lessons, describe_preferences
    from tenure.algorithms.memory import experience, lessons
    from tenure.algorithms.retrieval.evidence_selection import select_evidence
    from tenure.contracts.base import RunId
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.evidence.tables import get_database_corpus
    from tenure.contracts.knowledge.memory import MemorySearchRequest, NewMemory, RememberRequest
    from tenure.contracts.research.learning import Experience, ExperienceRequest, InheritRequest
    from tenure.contracts.research.report import ReportDraft
    from tenure.contracts.research.trace import TracedMemory
    from tenure.contracts.result.result import Result
    from tenure.contracts.run.run import FallbackRecord, RunRequest, Usage

MAX_RECALLED_LESSONS: Final = 40
"""Memories of earlier programs."""


class RunMemory:
    """Memory of one run's owner, as the run uses it."""

    def __init__(self, clients: ActivityClients, request: RunRequest) -> None:
        """Use the memory of the run's owner, if the request enables it."""
        self._clients, self._request = clients, request
        self._run = RunId(workflow.info().workflow_id)
        self._owner = workflow.info().priority.fairness_key or ""
        # Findings of earlier runs in other corpora are not recalled.
        databases = map(get_database_corpus, request.databases)
        self._readable = tuple(dict.fromkeys((*request.corpora, *databases)))
        self.notes: list[str] = []
        self._recall_notes: list[str] = []
        """Notes on what is recalled in the background, which no report needs if nothing of it is used."""
        self.lessons: tuple[str, ...] = ()
        self.statements: tuple[PassageRef, ...] = ()
        self.experience = Experience()
        """Knowledge of earlier runs with which the run starts."""
        self._kept: tuple[str, ...] = ()
        self._recalling: asyncio.Task[Experience | None] | None = None

    def start_recall(self) -> None:
        """Start to recall the experience of earlier runs, which `recall` returns."""
        if self._request.memory:
            failure = "Earlier runs could not be recalled"
            recalling = run_optional_step(self._recall(), None, failure, self._recall_notes.append)
            self._recalling = asyncio.create_task(recalling)

    async def recall(self) -> None:
        """Recall the experience of earlier runs."""
        if self._recalling is None:
            self.start_recall()
        self.experience = (await self._recalling if self._recalling else None) or Experience()
        self.notes += self._recall_notes
        # Statements that concern the question are evidence even if no document is.
        personal = [fact.passage for fact in self.experience.personal]
        self.statements = select_evidence(personal, self._request.limits.min_relevance)

    @property
    def traced(self) -> TracedMemory | None:
        """Memories that were recalled and stored, for the trace; None if there are none."""
        # Statistics of strategies concern all runs of the owner.
        recalled = dict(self.experience) | {"repeated": (), "records": ()}
        traced = TracedMemory(**recalled, kept=self._kept)
        return None if traced == TracedMemory() else traced

    async def _recall(self) -> Experience:
        request, limits = self._request, self._request.limits
        findings = InheritRequest(
            question=request.question,
            corpora=request.corpora,
            filters=limits.filters,
            min_relevance=limits.min_relevance,
        )
        corpora = (*request.corpora, *((limits.web.corpus,) if limits.web else ()))
        # The web answers the same query differently from day to day, and a scheduled question repeats all searches.
        recalling = ExperienceRequest(
            run=self._run,
            memories=self._build_search(),
            findings=findings if request.corpora else None,
            inherits=not request.scheduled,
            repeats_queries=not limits.web,
            # Statements of a person meet no condition on documents.
            personal_corpus="" if limits.filters else next(iter(corpora), ""),
            reuses_answers=limits.has_model and not (limits.fresh or limits.web),
        )
        recalled = await self._clients.execute_activity(
            KnowledgeActivities.recall_experience, recalling, summary=request.question
        )
        self._recall_notes += experience.describe_experience(recalled)
        return recalled

    def _build_search(self) -> MemorySearchRequest:
        """Return the search of the owner's memories for the question of the run."""
        return MemorySearchRequest(
            query=self._request.question,
            owner=self._owner,
            corpora=self._readable,
            now=workflow.now(),
            used_by=self._run,
        )

    async def recall_lessons(self) -> None:
        """Recall the lessons of earlier programs or of the same repository, and the preferences."""
        if not self._request.memory:
            return
        failure = "Lessons of earlier programs could not be recalled"
        options: dict[str, Any] = {"kinds": ("procedural",), "limit": MAX_RECALLED_LESSONS, "include_preferences": True}
        if repository := self._request.repository:
            # Whatever the task is: its lessons are recognized by the repository.
            query = lessons.describe_repository(repository.source.path)
            options |= {"query": query, "min_relevance": 0.0}
        search = self._build_search().model_copy(update=options)
        searching = self._clients.execute_activity(
            KnowledgeActivities.search_memories, search, summary=f"lessons: {search.query}"
        )
        reply = await run_optional_step(searching, None, failure, self.notes.append)
        if reply is not None:
            self.lessons = (
                lessons.select_repository_lessons(reply.memories, repository.source.path)
                if repository
                else lessons.select_lessons(reply.memories)
            )
            preferences = tuple(memory.text for memory in reply.preferences)
            self.experience = Experience(advice=self.lessons, preferences=preferences)

    def describe_use(self, usage: Usage, fallbacks: Sequence[FallbackRecord]) -> tuple[str, ...]:
        """Return notes on what was recalled, and on its use."""
        preferences = describe_preferences(self.experience.preferences, usage, fallbacks)
        return (*self.notes, *preferences, *describe_lessons(self.lessons, usage))

    async def store(self, result: Result, draft: ReportDraft) -> Result:
        """Store the memories of this run; return the result, with a note if that failed."""
        memories = self._build_memories(result, draft) if self._request.memory else ()
        if not memories:
            return result
        notes: list[str] = []
        request = RememberRequest(memories=memories, owner=self._owner, now=workflow.now())
        summary = f"memories of “{result.question}”"
        storing = self._clients.execute_activity(KnowledgeActivities.store_memories, request, summary=summary)
        stored = await run_optional_step(storing, None, "The memories of this run could not be stored", notes.append)
        if stored is not None:
            self._kept = tuple(memory.text for memory in memories)
        return result.model_copy(update={"notes": (*result.notes, *notes)})

    def _build_memories(self, result: Result, draft: ReportDraft) -> tuple[NewMemory, ...]:
        """Return the memories of a run; none if it was routed to neither research nor code."""
        if result.repository:
            return lessons.build_repository_memories(result, result.repository, self._readable)
        if draft.mode == "CODE":
            return lessons.build_program_memories(result, self._readable)
        if draft.mode != "RESEARCH":
            return ()
        # A query is remembered only if it was executed on whole corpora with all of their vectors.
        complete = not self._request.limits.filters and result.usage.embedded_share == 1
        return experience.build_memories(
            result, draft.strategy_outcomes, draft.queries if complete else (), self._readable
        )
