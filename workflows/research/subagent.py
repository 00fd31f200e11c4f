"""SubagentWorkflow: one task of a research cycle, searched with one retrieval strategy."""

import asyncio
from typing import Any

from temporalio import workflow

from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.planning import SEARCH_KINDS
    from tenure.contracts.evidence.react import ReactTaskRecord
    from tenure.contracts.evidence.retrieval import RetrievalResult
    from tenure.contracts.research.spiral import CandidatePassage, PlanStep, SubagentRequest, SubagentResult

    # The registries import every strategy and tool: once for all runs, not for every run.
    from workflows.research.dependent_step import prepare_step, use_results
    from workflows.research.search_session import SearchSession
    from workflows.research.strategy_registry import retrieve
    from workflows.research.tool_context import ToolContext

MAX_NOTE_CHARACTERS = 300
"""Characters of the reason for which a step failed."""


@workflow.defn
class SubagentWorkflow(ControllableWorkflow):
    """Workflow that carries out one step of a plan."""

    @workflow.init
    def __init__(self, request: SubagentRequest) -> None:
        """Start without passages."""
        super().__init__(request.control, part=f"task: {request.step.query}")
        self.request = request
        self.clients = ActivityClients(self, request.limits, question=request.question, run=request.run)
        self.session = SearchSession(self.clients, request, lambda: self.is_finishing)

    @workflow.run
    async def run(self, request: SubagentRequest) -> SubagentResult:
        """Search, or use earlier results; return every passage with the query that found it."""
        try:
            step, found = await self._carry_out()
        except (Exception, asyncio.CancelledError):
            await self.clients.progress.fail(**self._describe_end())
            raise
        progress = await self.clients.progress.finish(**self._describe_end())
        changes = {
            "usage": self.clients.record.usage,
            "fallbacks": tuple(self.clients.record.fallbacks),
            "progress": progress,
        }
        return build_result(request, step, found).model_copy(update=changes)

    async def _carry_out(self) -> tuple[PlanStep, RetrievalResult]:
        """Return the step as it was executed, and what it found."""
        session = self.session
        step = await prepare_step(self.clients, self.request)
        session.task = self.request.model_copy(update={"step": step})
        if step.status == "skipped":
            return step, session.to_retrieval("complete")
        if step.kind in SEARCH_KINDS:
            return step, await retrieve(session)
        reason, problem = await use_results(session, ToolContext(self.clients, session.task, session.is_stopped))
        if problem:
            step = step.model_copy(update={"status": "failed", "note": problem[:MAX_NOTE_CHARACTERS]})
        return step, session.to_retrieval(reason)

    def _describe_end(self) -> dict[str, Any]:
        """Return the steps of the task and what it has found."""
        steps, answer = self.session.steps, self.session.answer
        query = self.session.task.step.query
        return {
            "task": ReactTaskRecord(query=query, steps=tuple(steps), answer=answer) if steps else None,
            "artifacts": self.session.artifacts,
            "last": describe_findings(self.session),
        }


def build_result(request: SubagentRequest, step: PlanStep, found: RetrievalResult) -> SubagentResult:
    """Return the result of a task whose step was carried out as `step`."""
    topic = request.step.topic
    return SubagentResult(
        step=step.id,
        prepared=None if step == request.step else step,
        candidates=tuple(
            CandidatePassage.model_validate({"topic": topic, **dict(passage)}) for passage in found.passages
        ),
        queries=tuple(query for query in found.queries if query != step.query),
        steps=found.steps,
        answer=found.answer,
        positions=found.positions,
        stop_reason=found.stop_reason,
    )


def describe_findings(session: SearchSession) -> str:
    """Return a line on the passages of a task."""
    found = len(session.found)
    return f"{found} passage{'' if found == 1 else 's'} for “{session.task.step.query[:120]}”"
