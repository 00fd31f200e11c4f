"""ResearchWorkflow: a report, phase by phase.

outline → gather → dossier → reason → (write → reflect)* → finalize. Every role that reasons, writes or reviews reads
the same dossier; `tenure.algorithms.control.transitions` decides whether the report is revised after a reflection.

Feedback reaches the writer, or the next review. A finished and a cancelled run both end in a report of what there is.
"""

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows.research.report_phases.dossier import open_dossier
from workflows.research.report_phases.finalize import finalize
from workflows.research.report_phases.gather import gather
from workflows.research.report_phases.outline import outline
from workflows.research.report_phases.pictures import read_pictures
from workflows.research.report_phases.reason import reason
from workflows.research.report_phases.report_context import ReportContext
from workflows.research.report_phases.review import compare_sources, reflect
from workflows.research.report_phases.write import write_added_sections, write_generation
from workflows.runtime.control import send_signal
from workflows.runtime.partial_result import PartialResultWorkflow

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.transitions import AgentState, Node, choose_next_node, compute_max_revisions
    from tenure.contracts.research.report import Critique, ReportDraft
    from tenure.contracts.research.spiral import ResearchRequest
    from tenure.contracts.run.run import Feedback


@workflow.defn
class ResearchWorkflow(PartialResultWorkflow):
    """Workflow that researches a question and writes a report."""

    @workflow.init
    def __init__(self, request: ResearchRequest) -> None:
        """Start from a routed question and the passages found for it, or from the state of a forked run."""
        super().__init__(request.control, part="report")
        self.feedback_items = list(request.feedback)
        self.context = ReportContext(self, request)

    @workflow.run
    async def run(self, request: ResearchRequest) -> ReportDraft:
        """Run all phases until no critique is left, the revisions are used up, or a person says stop."""
        await self.run_phases(self._execute_phases())
        try:
            return await finalize(self.context)
        except ActivityError as error:
            self.record_failure(error)
            return await finalize(self.context)

    async def _execute_phases(self) -> None:
        context = self.context
        if context.request.state is None:
            await outline(context)
        await gather(context)
        if self.failure:
            return
        await open_dossier(context)
        await context.try_step(read_pictures(context), None, "Pictures of documents were not read")
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
            has_request = any(critique.origin == "person" for critique in critiques)
            limit = compute_max_revisions(
                limit, revisions, has_new_feedback=has_request, is_finishing=self.is_finishing
            )
            node = choose_next_node(node, AgentState("RESEARCH", critiques, revisions=revisions), limit)

    @property
    def has_result(self) -> bool:
        """Whether a text is written."""
        return bool(self.context.state.text.claims)

    async def add_feedback(self, feedback: Feedback) -> None:
        """Forward feedback to the research loop; the writer and the reviews of the report read it later."""
        await super().add_feedback(feedback)
        for child in list(self.children.values()):
            await send_signal(child, "feedback", feedback)
