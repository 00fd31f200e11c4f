"""Remembering: a run is reminded of earlier ones at its start, and leaves what it has learned at its end (003, memory).

A memory that cannot be asked or kept costs the run a note and nothing else. The question as a whole is searched for
anew in any case: what is remembered comes beside it, and alone is no evidence.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.runtime.calls import Calls
from workflows.runtime.control import Steered
from workflows.runtime.failures import cause

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.memory import experience, known_facts
    from tenure.contracts.base import RunId
    from tenure.contracts.knowledge.memory import Recollected, Recollecting, Recollection, RememberRequest
    from tenure.contracts.research.learning import Experience, Inherited, InheritRequest, Related
    from tenure.contracts.research.report import ReportDraft
    from tenure.contracts.result.result import Result
    from tenure.contracts.run.run import RunRequest

RECALLED: Final = 40
"""Memories of earlier runs that a run is reminded of at the most, beside what these have found."""
WAITED: Final = timedelta(minutes=5)
"""How long a run waits for its memory, which it can do without."""

T = TypeVar("T")


class Remembering:
    """What one run has to do with the memory of its owner."""

    def __init__(self, steered: Steered, calls: Calls, request: RunRequest) -> None:
        """Remember for the owner whose turn the run takes, where its request wants that."""
        self._steered, self._calls, self._request = steered, calls, request
        self._run = RunId(workflow.info().workflow_id)
        self._owner = workflow.info().priority.fairness_key or ""
        self.notes: list[str] = []

    async def recall(self) -> Experience:
        """Return what earlier runs have left to this one."""
        if not self._request.memory:
            return Experience()
        return await self._asked(self._recalled, "Earlier runs could not be remembered") or Experience()

    async def _asked(self, call: Callable[[], Awaitable[T]], otherwise: str) -> T | None:
        """Return what a call to the memory brings, within a time; where it brings nothing, note that."""
        await self._steered.ready()
        try:
            return await asyncio.wait_for(call(), WAITED.total_seconds())
        except TimeoutError:
            self.notes.append(f"{otherwise}: it took too long.")
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            self.notes.append(f"{otherwise}: {cause(error)}")
        return None

    async def _recalled(self) -> Experience:
        recollection, facts = await asyncio.gather(self._runs(), self._facts())
        related = experience.related(recollection.memories, self._run)
        left = await self._inherited((*related, *experience.telling(facts, related, self._run)))
        return self._told(recollection, facts, related, left)

    async def _runs(self) -> Recollection:
        """Return what is remembered of how earlier runs went, and what they have learned."""
        question = self._request.question
        request = Recollecting(
            query=question,
            owner=self._owner,
            kinds=("episodic", "procedural"),
            most=RECALLED,
            now=workflow.now(),
            occasion=self._run,
            statistics=True,
        )
        return await self._calls.recollect(request, summary=question)

    async def _facts(self) -> tuple[Recollected, ...]:
        """Return what is remembered of what earlier runs have found: asked for by itself, to crowd out nothing."""
        if not workflow.patched("facts"):  # a run that was reminded before there were any
            return ()
        question = self._request.question
        request = Recollecting(
            query=question,
            owner=self._owner,
            kinds=known_facts.KINDS,
            most=known_facts.MOST_RECALLED,
            corpora=self._request.corpora,
            now=workflow.now(),
            occasion=self._run,
        )
        return (await self._calls.recollect(request, summary=f"facts: {question}")).memories

    async def _inherited(self, related: tuple[Related, ...]) -> Inherited:
        """Return what related runs have accepted; who asks again what is new wants all searches to be made."""
        request = self._request
        if not related or not request.corpora or request.standing:
            return Inherited()
        return await self._calls.inherit(
            InheritRequest(
                runs=related,
                question=request.question,
                corpora=request.corpora,
                filters=request.limits.filters,
                min_relevance=request.limits.min_relevance,
            ),
            summary=f"what {len(related)} related runs have accepted",
        )

    def _told(
        self,
        recollection: Recollection,
        facts: tuple[Recollected, ...],
        related: tuple[Related, ...],
        left: Inherited,
    ) -> Experience:
        memories: tuple[Recollected, ...] = recollection.memories
        # The web answers the same query differently from day to day.
        made = () if self._request.limits.web else experience.queries(memories, related, left)
        found = Experience(
            related=related,
            passages=left.passages,
            queries=made,
            records=recollection.strategies,
            advice=experience.advice(memories),
            facts=known_facts.come_to_mind(facts),
        )
        self.notes += experience.in_words(found)
        return found

    async def keep(self, result: Result, draft: ReportDraft) -> Result:
        """Leave what the run has learned to later ones; return the result, with a note where that failed."""
        if not self._request.memory or draft.mode != "RESEARCH":
            return result
        known = len(self.notes)
        # A query counts as asked only where it was put to all of the corpora, with all of their vectors.
        whole = not self._request.limits.filters and result.usage.embedded_share == 1
        kept = experience.impressions(result, draft.practised, draft.queries if whole else ())
        request = RememberRequest(impressions=kept, owner=self._owner, now=workflow.now())
        summary = f"what “{result.question}” has taught"
        await self._asked(
            lambda: self._calls.remember(request, summary=summary), "What was learned could not be remembered"
        )
        return result.model_copy(update={"notes": (*result.notes, *self.notes[known:])})
