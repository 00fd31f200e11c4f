"""ResearchWorkflow: a report, phase by phase.

outline → gather → dossier → reason → (write → reflect)* → finalize. Every role that reasons, writes or reviews reads
the same dossier; `tenure.algorithms.control.transitions` decides whether the report is revised after a reflection.

Feedback reaches the writer, or the next review. A finished and a cancelled run both end in a report of what there is.
"""

import asyncio
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError, is_cancelled_exception

from workflows.research.report_phases.dossier import open_dossier
from workflows.research.report_phases.finalize import finalize
from workflows.research.report_phases.gather import gather
from workflows.research.report_phases.outline import outline
from workflows.research.report_phases.reason import reason
from workflows.research.report_phases.report_context import ReportContext
from workflows.research.report_phases.review import compare_sources, reflect
from workflows.research.report_phases.write import write_added_sections, write_generation
from workflows.runtime.control import ControllableWorkflow, send_signal
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.transitions import AgentState, Node, choose_next_node, compute_max_revisions
    from tenure.contracts.research.report import Critique, ReportDraft
    from tenure.contracts.research.spiral import ResearchRequest
    from tenure.contracts.run.run import Feedback


@workflow.defn
class ResearchWorkflow(ControllableWorkflow):
    """Workflow that researches a question and writes a report."""

    @workflow.init
    def __init__(self, request: ResearchRequest) -> None:
        """Start from a routed question and the passages found for it, or from the state of a forked run."""
        super().__init__(request.control, part="report")
        self.feedback_items = list(request.feedback)
        self.context = ReportContext(self, request)
        self.main_task: asyncio.Task[None] | None = None

    @workflow.run
    async def run(self, request: ResearchRequest) -> ReportDraft:
        """Run all phases until no critique is left, the revisions are used up, or a person says stop."""
        self.main_task = asyncio.create_task(self._run_phases())
        if self.context.state.cancelled:
            self.main_task.cancel()
        try:
            await self.main_task
        except (asyncio.CancelledError, ActivityError, ChildWorkflowError) as error:
            # A cancelled activity or child that was awaited directly raises an error of its own type.
            if not (self.context.state.cancelled and is_cancelled_exception(error)):
                self._keep_what_is_written(error)
        try:
            return await finalize(self.context)
        except ActivityError as error:
            self._keep_what_is_written(error)
            return await finalize(self.context)

    async def _run_phases(self) -> None:
        context = self.context
        if context.request.state is None:
            await outline(context)
        await gather(context)
        if context.state.failure:
            return
        await open_dossier(context)
        await reason(context)
        await self._write_and_revise()
        await compare_sources(context)
        await write_added_sections(context)

    async def _write_and_revise(self) -> None:
        """Write the report and revise it as long as a reflection finds critiques."""
        critiques: tuple[Critique, ...] = ()
        node: Node = choose_next_node("route", AgentState(mode="RESEARCH"), 0)
        while node != "end":
            if node == "generate_report":
                await write_generation(self.context, critiques)
            else:
                critiques = await reflect(self.context)
            limit, revisions = self.context.max_revisions, self.context.state.revisions
            asked = any(critique.origin == "person" for critique in critiques)
            most = compute_max_revisions(limit, revisions, has_new_feedback=asked, is_finishing=self.is_finishing)
            node = choose_next_node(node, AgentState("RESEARCH", critiques, revisions=revisions), most)

    def _keep_what_is_written(self, error: BaseException) -> None:
        """Record a permanent failure, so that the what is written is delivered.

        Raises:
            BaseException: the error itself, if nothing is written or the workflow was cancelled from outside.
        """
        if is_cancelled_exception(error) or not self.context.state.text.claims:
            raise error
        self.context.update(failure=describe_failure(error))

    @workflow.signal(description="Stop immediately and deliver what is written.")
    async def cancel(self, *unused: Any) -> None:
        """Cancel all work that is in progress; the written text is delivered."""
        self.context.update(cancelled=True)
        self.change_control(paused=False, finishing=True)
        if self.main_task is not None:
            self.main_task.cancel()

    async def add_feedback(self, feedback: Feedback) -> None:
        """Forward feedback to the research loop; the writer and the reviews of the report read it later."""
        await super().add_feedback(feedback)
        for child in list(self.children.values()):
            await send_signal(child, "feedback", feedback)
