"""SubagentWorkflow: one task of a research cycle, searched for with one strategy (document 004, subagents).

A direct task searches once. A multi-hop task lets each search name the next one, until it has what it
was sent for, a search brings nothing new, or its hops are used up.
"""

import asyncio
from collections.abc import Sequence

from temporalio import workflow

from workflows.calls import Calls
from workflows.purse import by_signal
from workflows.section import report
from workflows.steering import Steered

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.effort import converged
    from tenure.algorithms.plan import same
    from tenure.contracts.evidence import PassageRef, SearchRequest
    from tenure.contracts.research import ProgressUpdate
    from tenure.contracts.spiral import Candidate, SubagentRequest, SubagentResult
    from tenure.roles.query_refiner import QueryRefinerInput

PASSAGES = 12
"""Passages of one search."""
SHOWN = 8
"""Passages that decide what to search for next."""


@workflow.defn
class SubagentWorkflow(Steered):
    """Looks for one thing."""

    @workflow.init
    def __init__(self, request: SubagentRequest) -> None:
        """Start with the task's own query."""
        super().__init__(request.stance)
        self.request = request
        self.calls = Calls(self, request.limits, by_signal(self, request.run))
        self.made: list[str] = []
        self.found: dict[str, Candidate] = {}

    @workflow.run
    async def run(self, request: SubagentRequest) -> SubagentResult:
        """Search, and return every passage found with the query that found it."""
        try:
            await self._search()
        except (Exception, asyncio.CancelledError):
            await self._tell()  # what its calls cost has to be known, and the rest of its budget is free again
            raise
        await self._tell()
        await workflow.wait_condition(workflow.all_handlers_finished)
        return SubagentResult(
            step=request.step.id,
            candidates=tuple(self.found.values()),
            queries=tuple(self.made[1:]),
            usage=self.calls.usage,
            degraded=tuple(self.calls.degraded),
        )

    async def _search(self) -> None:
        query, before = self.request.step.query, tuple[str, ...]()
        for hop in range(1, self.request.hops + 1):
            passages = await self._look(query)
            now = tuple(passage.chunk for passage in passages)
            if hop == self.request.hops or not passages or converged(before, now) or self.finishing:
                return
            before = now
            query = await self._refined(passages)
            if not query:
                return

    async def _look(self, query: str) -> Sequence[PassageRef]:
        step, limits = self.request.step, self.request.limits
        self.made.append(query)
        passages = await self.calls.search(
            SearchRequest(
                query=query,
                corpora=self.request.corpora,
                k=PASSAGES,
                hypothetical=self.request.hypothetical if len(self.made) == 1 and not step.reads else "",
                max_per_source=None if step.reads else limits.max_per_source,
                sources=(step.reads.source,) if step.reads else (),
            ),
            limits.min_relevance,
            summary=query,
        )
        for passage in passages:
            self.found.setdefault(passage.chunk, Candidate(topic=step.topic, query=query, passage=passage))
        return passages

    async def _refined(self, passages: Sequence[PassageRef]) -> str:
        """Return the next query; empty where there is none that was not made."""
        step = self.request.step
        refined = await self.calls.role(
            RoleActivities.query_refiner,
            QueryRefinerInput(question=self.request.question, task=step.query, made=tuple(self.made)),
            passages[:SHOWN],
            summary=f"{step.query}, after {len(self.made)}",
        )
        query = refined.query.strip()
        return "" if refined.complete or any(same(query, made) for made in self.made) else query

    async def _tell(self) -> None:
        """Report what the task used, and that it makes no more calls."""
        found = len(self.found)
        await report(
            self.request.run,
            ProgressUpdate(
                reporter=workflow.info().workflow_id,
                usage=self.calls.usage,
                last=f"{found} passage{'' if found == 1 else 's'} for “{self.request.step.query[:120]}”",
                ended=True,
            ),
        )
