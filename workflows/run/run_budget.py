"""Manage the budget of a run: its account, the clock of its working time, and what happens when a budget runs low.

The clock runs except while the run is paused or waits for a person. When most of a budget is used, all parts of the
run are informed once; when it is exhausted, the run gathers nothing more and writes up its findings.
"""

from collections.abc import Callable, Mapping
from typing import Any

from temporalio import workflow

from workflows.run.interactive import InteractiveRun
from workflows.runtime.stopwatch import Stopwatch

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.budget import (
        RUNNING_LOW_THRESHOLD,
        BudgetAccount,
        add_amounts,
        compute_used_amounts,
        compute_used_shares,
        compute_writing_reserve,
        describe_limit,
    )
    from tenure.algorithms.control.steering import apply_bounds, is_exhausted_limit_raised, merge_bounds
    from tenure.algorithms.research.effort import choose_effort, choose_effort_bounds, compute_unasked_amounts
    from tenure.contracts.choices import Complexity
    from tenure.contracts.research.progress import ProgressUpdate
    from tenure.contracts.run.budget import BudgetAmounts, BudgetGrant, BudgetRequest, BudgetResource
    from tenure.contracts.run.control import BudgetBounds, BudgetRevision
    from tenure.contracts.run.run import RunLimits, Usage


class RunBudget:
    """Budget of one run."""

    def __init__(self, run: InteractiveRun, limits: RunLimits, add_note: Callable[[str], None]) -> None:
        """Create the account of a run; `add_note` completes a sentence for its report by the phase."""
        self._run = run
        self._add_note = add_note
        self._clock = Stopwatch(lambda: run.is_paused or run.input_request is not None)
        self._alarms = 0
        self.account = BudgetAccount(limits=limits)

    @property
    def seconds(self) -> float:
        """Working time so far."""
        return self._clock.seconds

    @property
    def limits(self) -> RunLimits:
        """Limits that hold now: those of the request, or later ones of people or of the effort."""
        return self.account.limits

    async def limit_by_effort(self, complexity: Complexity | None, usages: Mapping[str, Usage]) -> None:
        """Limit the usage of the model by the effort that the question is worth, unless people limit it."""
        effort = choose_effort(complexity or "moderate", self.limits)
        bounds = choose_effort_bounds(effort, self.limits)
        if bounds and not self._run.control.budget_revision.number:
            unasked = compute_unasked_amounts(bounds)
            await self.revise(apply_bounds(self.limits, bounds), bounds, usages, unasked=unasked)

    async def grant(self, request: BudgetRequest) -> BudgetGrant:
        """Answer a budget request; the first one that the account cannot cover exhausts the budget."""
        revision = self._run.control.budget_revision.number
        if request.budget_revision != revision:
            return BudgetGrant(number=request.number, budget_revision=revision)
        self.account, grant = self.account.grant(request)
        await self.check()
        if grant.exhausted is not None:
            await self._exhaust(grant.exhausted)
        return grant

    async def announce(self, update: ProgressUpdate, usages: Mapping[str, Usage]) -> None:
        """Record what started calls of a workflow are expected to use of an effort; too much exhausts the budget."""
        if update.expected is None or not self._run.control.budget_revision.by_effort:
            return  # If people have limited the run meanwhile, the workflow will request what it needs.
        used = compute_used_amounts(usages[update.reporter])
        self.account = self.account.announce(update.reporter, used, update.expected)
        exceeded = self.account.find_exceeded(for_writing=bool(update.for_writing))
        if exceeded is not None:
            await self._exhaust(exceeded)

    def settle(self, reporter: str, usage: Usage) -> None:
        """Return the unused part of what was granted to a workflow that has ended."""
        self.account = self.account.settle(reporter, usage)

    async def revise(
        self,
        limits: RunLimits,
        changes: BudgetBounds,
        usages: Mapping[str, Usage],
        *,
        unasked: BudgetAmounts | None = None,
    ) -> bool:
        """Apply changed limits; return whether the run may now resume what the old limits had ended.

        Limits of the effort come with amounts that each part may use without a request; limits that a person sets
        replace them.
        """
        before, self.account = self.account.limits, self.account.change_limits(limits, usages)
        self._alarms = 0
        control, revision = self._run.control, self._run.control.budget_revision
        bounds = BudgetBounds() if revision.by_effort else revision.budget
        revised = BudgetRevision(
            number=revision.number + 1,
            budget=merge_bounds(bounds, changes),
            by_effort=unasked is not None,
            unasked=unasked or BudgetAmounts(),
            left=self.account.compute_remaining(),
        )
        changed: dict[str, Any] = {"budget_revision": revised, "running_low": False}
        if resumes := is_exhausted_limit_raised(control, before, changes):
            changed |= {"exhausted": None, "deadline_exceeded": False, "finishing": self._run.asked_to_finish}
        await self._run.update_control(self._run.change_control(**changed))
        await self.check()
        return resumes

    async def check(self) -> None:
        """Inform all parts of the run, once, when most of a budget is used or reserved.

        An effort is as much as a run needs, so its last part is not saved for something else.
        """
        if self._run.control.running_low or self._run.control.budget_revision.by_effort:
            return
        limits = self.account.limits
        amounts = add_amounts(self.account.committed_amounts, compute_writing_reserve(limits))
        for resource, share in compute_used_shares(limits, amounts, self.seconds).items():
            if share >= RUNNING_LOW_THRESHOLD:
                await self._warn(resource)
                return

    async def run_clock(self) -> None:
        """Watch the working time, whose limit people may change."""
        while True:
            await self._clock.wait_until(self._next_alarm, "working time")
            self._alarms += 1
            if self._alarms == 1 and not self._run.control.running_low:
                await self._warn("time")
            elif self._alarms == 2:
                await self._exhaust("time")
            elif self._alarms == 3:
                await self._run.update_control(self._run.change_control(deadline_exceeded=True))

    def _next_alarm(self) -> float | None:
        """Return the second of the next alarm: when most of the time, all of it, and the grace period are over."""
        limits = self.account.limits
        if limits.max_seconds is None or self._alarms > 2:
            return None
        alarms = (
            limits.max_seconds * RUNNING_LOW_THRESHOLD,
            limits.max_seconds,
            limits.max_seconds + limits.grace_seconds,
        )
        return alarms[self._alarms]

    async def _warn(self, resource: BudgetResource) -> None:
        self._add_note(
            f"{RUNNING_LOW_THRESHOLD:.0%} of {describe_limit(self.account.limits, resource)} was used or reserved"
        )
        await self._run.update_control(self._run.change_control(running_low=True))

    async def _exhaust(self, resource: BudgetResource) -> None:
        """Stop gathering, so that the results so far are written up."""
        if self._run.control.exhausted is not None:
            return
        self._add_note(f"{describe_limit(self.account.limits, resource)} was used up")
        await self._run.update_control(self._run.change_control(finishing=True, running_low=True, exhausted=resource))
