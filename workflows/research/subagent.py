"""SubagentWorkflow: one task of a research cycle, searched with one retrieval strategy."""

import asyncio
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.planning import SEARCH_KINDS
    from tenure.contracts.research.spiral import SubagentRequest, SubagentResult

    # The registries import every strategy and tool: once for all runs, not for every run.
    from workflows.research.dependent_step import prepare_step, use_results
    from workflows.research.search_session import SearchSession
    from workflows.research.strategy_registry import retrieve

MAX_NOTE_CHARACTERS = 300
"""Characters of the reason for which a step failed."""


@workflow.defn
class SubagentWorkflow(ControllableWorkflow):
    """Workflow that carries out one step of a plan."""

    @workflow.init
    def __init__(self, request: SubagentRequest) -> None:
        super().__init__(request.control, part=f"task: {request.step.query}")
        self.request = request
        self.clients = ActivityClients(self, request.limits, question=request.question, run=request.run)
        self.session = SearchSession(self.clients, request, lambda: self.is_finishing)

    @workflow.run
    async def run(self, request: SubagentRequest) -> SubagentResult:
        """Search, or use earlier results; return every passage with the query that found it.

        A task whose call fails permanently returns what it has done and found until then.
        """
        failure = ""
        try:
            await self._carry_out()
        except (Exception, asyncio.CancelledError) as error:
            if is_cancelled_exception(error) or not isinstance(error, ActivityError):
                await self.clients.progress.fail(**self._describe_end())
                raise
            failure = describe_failure(error)
        progress = await self.clients.progress.finish(**self._describe_end())
        changes = {
            "failure": failure,
            "usage": self.clients.record.usage,
            "fallbacks": tuple(self.clients.record.fallbacks),
            "progress": progress,
        }
        return self.session.build_result(request.step).model_copy(update=changes)

    async def _carry_out(self) -> None:
        """Execute the step; the session has the step as it was executed, and what it found."""
        session = self.session
        session.change_step(await prepare_step(self.clients, self.request))
        step = session.task.step
        if step.status == "skipped":
            return
        if step.kind in SEARCH_KINDS:
            await retrieve(session)
        elif problem := await use_results(session):
            session.change_step(step.model_copy(update={"status": "failed", "note": problem[:MAX_NOTE_CHARACTERS]}))

    def _describe_end(self) -> dict[str, Any]:
        """Return the files and the findings of the task."""
        return {"artifacts": self.session.artifacts, "last": self.session.describe_findings()}
