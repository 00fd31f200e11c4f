"""SubagentWorkflow: one task of a research cycle, searched with one retrieval strategy."""

import asyncio

from temporalio import workflow

from workflows.runtime.budget import request_by_signal
from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.progress import send_progress

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.planning import SEARCH_KINDS
    from tenure.contracts.evidence.react import ReactTaskRecord
    from tenure.contracts.evidence.retrieval import RetrievalResult
    from tenure.contracts.research.report import ProgressUpdate
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
        super().__init__(request.control)
        self.request = request
        self.clients = ActivityClients(self, request.limits, request_by_signal(self, request.run), request.question)
        self.session = SearchSession(self.clients, request, lambda: self.is_finishing)

    @workflow.run
    async def run(self, request: SubagentRequest) -> SubagentResult:
        """Search, or use earlier results; return every passage with the query that found it."""
        try:
            step, found = await self._carry_out()
        except (Exception, asyncio.CancelledError):
            await self._send_progress()  # the run must know what the calls cost, to free the rest of their budget
            raise
        await self._send_progress()
        await workflow.wait_condition(workflow.all_handlers_finished)
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
            usage=self.clients.record.usage,
            fallbacks=tuple(self.clients.record.fallbacks),
        )

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

    async def _send_progress(self) -> None:
        """Report usage, steps and number of passages, and that the task has ended."""
        found, steps, answer = len(self.session.found), self.session.steps, self.session.answer
        query = self.session.task.step.query
        await send_progress(
            self.request.run,
            ProgressUpdate(
                reporter=workflow.info().workflow_id,
                usage=self.clients.record.usage,
                task=ReactTaskRecord(query=query, steps=tuple(steps), answer=answer) if steps else None,
                artifacts=self.session.artifacts,
                last=f"{found} passage{'' if found == 1 else 's'} for “{query[:120]}”",
                ended=True,
            ),
        )
