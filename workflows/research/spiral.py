"""SpiralWorkflow: the research loop, cycle by cycle: critique and plan → act → analyze → decide.

The knowledge of all cycles is an immutable state; each phase computes the next one, and the workflow continues as new
with it when its history becomes long. The planner reads the dossier and only proposes: pure rules decide which actions
are executed, and guards that no model can override decide when to stop.
"""

import asyncio

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.research.cycle_phases.act import execute_steps, needs_another_plan
from workflows.research.cycle_phases.analyze import (
    PassageGroups,
    analyze,
    collect_known_passages,
    merge_groups,
    provide_passages,
    request_topic_names,
)
from workflows.research.cycle_phases.decide import stop_reason
from workflows.research.cycle_phases.plan import announce_plan, plan_cycle
from workflows.research.cycle_phases.research_loop import ResearchLoop
from workflows.runtime.control import ControllableWorkflow, send_signal
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research import research_state
    from tenure.contracts.research.fork import CycleCheckpoint
    from tenure.contracts.research.spiral import CandidatePassage, SpiralRequest, SpiralResult, SpiralState


@workflow.defn
class SpiralWorkflow(ControllableWorkflow):
    """Workflow that gathers the findings of a report."""

    @workflow.init
    def __init__(self, request: SpiralRequest) -> None:
        """Start from an outline, or from the state that earlier cycles left."""
        super().__init__(request.control, part="research")
        self.feedback_items = list(request.feedback)
        self.loop = ResearchLoop(self, request)
        self.failure = ""
        self.is_cut = False

    @property
    def cycle(self) -> int:
        """Number of the current cycle, which log lines of its activities name."""
        return self.loop.state.cycle

    @workflow.run
    async def run(self, request: SpiralRequest) -> SpiralResult:
        """Run cycles until enough is known, nothing new comes, a budget is exhausted, or a person says stop."""
        try:
            await self._run_cycles()
        except (Exception, asyncio.CancelledError) as error:
            has_results = bool(self.loop.state.information_gains)
            if is_cancelled_exception(error) or not isinstance(error, ActivityError) or not has_results:
                await self.loop.clients.progress.fail(**self.loop.describe_progress("", "waiting"))
                raise
            self.failure = describe_failure(error)
            self.loop.add_decision(f"Ended in cycle {self.loop.state.cycle}: a step failed permanently: {self.failure}")
        decisions = self.loop.state.decisions
        progress = await self.loop.clients.progress.finish(
            **self.loop.describe_progress(decisions[-1] if decisions else "", "waiting")
        )
        fallbacks = (*self.loop.state.fallbacks, *self.loop.clients.record.fallbacks)
        self.loop.update(fallbacks=fallbacks)
        return SpiralResult(state=self.loop.state, failure=self.failure, is_cut=self.is_cut, progress=progress)

    async def _run_cycles(self) -> None:
        loop = self.loop
        latent: PassageGroups = ()
        if not loop.state.cycle and loop.request.evidence and not self.is_finishing:
            latent = await analyze(loop, collect_known_passages(loop))
            loop.record_cycle()
        while not (reason := stop_reason(loop)):
            loop.update(cycle=loop.state.cycle + 1)
            loop.apply_pending_outline()
            await provide_passages(loop)
            candidates = await self._plan_and_act()
            if (loop.end_reason or self.is_finishing) and not self._has_searched():
                # A plan to finish is no cycle: nothing was found, so there is nothing to analyze or to fork from.
                loop.update(cycle=loop.state.cycle - 1)
                continue
            # Searches for topics find little else, so groups come mostly from the search for the whole question.
            groups = merge_groups(await analyze(loop, candidates), latent)
            latent = ()
            await loop.try_step(request_topic_names(loop, groups), None, "Latent topics could not be named")
            loop.record_cycle()
            if not stop_reason(loop):
                announce_plan(loop, loop.state.cycle + 1)
            await self._send_checkpoint()
            info = workflow.info()
            is_long = info.get_current_history_length() > loop.request.limits.max_history_events
            if (is_long or info.is_continue_as_new_suggested()) and not stop_reason(loop):
                await self._continue_as_new()
        own_end = loop.end_reason or research_state.find_stop_reason(loop.state, loop.request.effort)
        self.is_cut = self.is_finishing and not own_end
        loop.apply_pending_outline()
        loop.add_decision(reason)

    async def _plan_and_act(self) -> tuple[CandidatePassage, ...]:
        """Plan and carry the plan out; plan again while that fails, up to the limit of the run."""
        loop = self.loop
        plan = await plan_cycle(loop)
        if plan.steps and loop.state.cycle > 1:
            loop.add_decision(f"Cycle {loop.state.cycle - 1}: the research continued. {loop.state.critique}")
        result = await execute_steps(loop, plan)
        results = result.results
        for _ in range(loop.request.limits.max_replans):
            if not needs_another_plan(loop, plan, result):
                break
            await loop.clients.progress.send()
            plan = await plan_cycle(loop)
            result = await execute_steps(loop, plan)
            results += result.results
        candidates = tuple(candidate for result in results for candidate in result.candidates)
        if (plan.finish or plan.is_empty) and not candidates and not self.is_finishing:
            ended = research_state.count_cycles(loop.state.cycle - (not self._has_searched()))
            why = loop.state.critique if plan.finish else ""
            loop.end_reason = f"Ended after {ended}: {why or 'the planner sees nothing more to look for.'}"
        return candidates

    def _has_searched(self) -> bool:
        """Return whether a query was made in this cycle."""
        state = self.loop.state
        return any(executed.cycle == state.cycle for executed in state.executed)

    async def _send_checkpoint(self) -> None:
        """Send the state to the run, whose history keeps it for a fork from this cycle."""
        checkpoint = CycleCheckpoint(
            state=self._state_for_next_cycle(),
            feedback=tuple(self.feedback_items),
            outline=self.control.outline,
            progress=await self.loop.clients.progress.read_unsent(),
        )
        await send_signal(workflow.get_external_workflow_handle(self.loop.request.run), "record_cycle", checkpoint)

    def _state_for_next_cycle(self) -> SpiralState:
        """Return the state that the next cycle starts from, here or in a fork, without what it cost so far."""
        loop, blank = self.loop, SpiralState()
        return loop.state.model_copy(
            update={
                "fallbacks": research_state.merge_fallbacks((*loop.state.fallbacks, *loop.clients.record.fallbacks)),
                "usage": blank.usage,
                "unused_budget": blank.unused_budget,
                "budget_requests": blank.budget_requests,
            }
        )

    async def _continue_as_new(self) -> None:
        """Continue as new from the state; no child or activity runs between two cycles."""
        clients = self.loop.clients
        await clients.progress.send()
        await workflow.wait_condition(workflow.all_handlers_finished)
        costs = {
            "usage": clients.record.usage,
            "unused_budget": clients.lease.remaining,
            "budget_requests": clients.lease.request_count,
        }
        changes = {
            "state": self._state_for_next_cycle().model_copy(update=costs),
            "feedback": tuple(self.feedback_items),
            "control": self.control,
            "progress": None,
        }
        workflow.continue_as_new(self.loop.request.model_copy(update=changes))
