"""SubagentWorkflow: one task of a research cycle, searched for with one strategy (document 004, subagents).

How it searches is `workflows/research/strategies.py`'s; here it is begun, and what came of it is told.
"""

import asyncio

from temporalio import workflow

from workflows.research.search_session import Searching
from workflows.research.strategies import retrieve
from workflows.runtime.budget import by_signal
from workflows.runtime.calls import Calls
from workflows.runtime.control import Steered
from workflows.runtime.progress import report

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.evidence.react import SteppedTask
    from tenure.contracts.research.report import ProgressUpdate
    from tenure.contracts.research.spiral import Candidate, SubagentRequest, SubagentResult


@workflow.defn
class SubagentWorkflow(Steered):
    """Looks for one thing."""

    @workflow.init
    def __init__(self, request: SubagentRequest) -> None:
        """Start with nothing found."""
        super().__init__(request.stance)
        self.request = request
        self.calls = Calls(self, request.limits, by_signal(self, request.run))
        self.searching = Searching(self.calls, request, lambda: self.finishing)

    @workflow.run
    async def run(self, request: SubagentRequest) -> SubagentResult:
        """Search, and return every passage found with what led to it."""
        try:
            found = await retrieve(self.searching)
        except (Exception, asyncio.CancelledError):
            await self._tell()  # what its calls cost has to be known, and the rest of its budget is free again
            raise
        await self._tell()
        await workflow.wait_condition(workflow.all_handlers_finished)
        topic = request.step.topic
        return SubagentResult(
            step=request.step.id,
            candidates=tuple(Candidate.model_validate({"topic": topic, **dict(one)}) for one in found.passages),
            queries=tuple(query for query in found.queries if query != request.step.query),
            steps=found.steps,
            answer=found.answer,
            ending=found.ending,
            usage=self.calls.usage,
            degraded=tuple(self.calls.degraded),
        )

    async def _tell(self) -> None:
        """Report what the task used, and that it makes no more calls."""
        found, steps, answer = len(self.searching.found), self.searching.steps, self.searching.answer
        query = self.request.step.query
        await report(
            self.request.run,
            ProgressUpdate(
                reporter=workflow.info().workflow_id,
                usage=self.calls.usage,
                task=SteppedTask(query=query, steps=tuple(steps), answer=answer) if steps else None,
                artifacts=self.searching.artifacts,
                last=f"{found} passage{'' if found == 1 else 's'} for “{query[:120]}”",
                ended=True,
            ),
        )
