"""Lease parts of the run's budget to its workflows and reserve from the lease what each call may use.

A child extends its lease by a signal to the run and waits for the reply; the run takes from its own account directly.
Without limits no request is made. When people change the limits, amounts that were granted under the old ones become
void on both sides, so that lower limits hold from the next call on.
"""

from collections.abc import Awaitable, Callable, Collection

from temporalio import workflow

from workflows.runtime.control import ControllableWorkflow, send_signal
from workflows.runtime.progress import ProgressReporter

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.budget import (
        add_amounts,
        compute_used_amounts,
        is_covered,
        is_sufficient,
        refuse,
    )
    from tenure.algorithms.control.usage import merge_usage
    from tenure.contracts.run.budget import BudgetAmounts, BudgetGrant, BudgetRequest
    from tenure.contracts.run.run import RunLimits, Usage

PREFETCH_CALLS = 4
"""Calls that one request covers if the budget is large enough."""

BudgetSource = Callable[["BudgetRequest"], Awaitable["BudgetGrant | None"]]
"""Function that answers a budget request; None if the request did not arrive."""


class BudgetLease:
    """Granted but unused budget of one workflow; a refused request marks the workflow's budget as exhausted."""

    def __init__(
        self,
        workflow_: ControllableWorkflow,
        limits: RunLimits,
        source: BudgetSource,
        used: Callable[[], BudgetAmounts],
        progress: ProgressReporter | None = None,
    ) -> None:
        """Start without any amount.

        The source answers requests for more, and `used` returns all that the workflow has used. A child announces calls
        with its progress; a run has none and takes from its own account.
        """
        self._workflow = workflow_
        self._limits = limits
        self._source = source
        self._used = used
        self._progress = progress
        self._announced = BudgetAmounts()
        self._remaining = BudgetAmounts()
        self._revised = False
        self.revision = self._current_revision
        self.request_count = 0
        """Number of the last request."""

    @property
    def remaining(self) -> BudgetAmounts:
        """Amounts granted under the current limits and not reserved."""
        self._void_earlier_amounts()
        return self._remaining

    def restore(self, remaining: BudgetAmounts, request_count: int) -> None:
        """Continue with the lease of this workflow's previous history, whose requests were all answered."""
        self._remaining, self.request_count = remaining, request_count

    def _void_earlier_amounts(self) -> None:
        """Forget what was granted or announced under earlier limits."""
        if self.revision != self._current_revision:
            self.revision, self._revised = self._current_revision, True
            self._remaining = self._announced = BudgetAmounts()
            if self._progress is not None:
                self._progress.expected = None

    @property
    def _current_revision(self) -> int:
        return self._workflow.control.budget_revision.number

    async def reserve(
        self, requested: BudgetAmounts, minimum: BudgetAmounts, *, for_writing: bool = False
    ) -> BudgetAmounts | None:
        """Reserve the wanted amounts, or the minimum if there is no more; None if even that is not granted."""
        while not is_sufficient(self.remaining, minimum, self._workflow.apply_budget_revision(self._limits)):
            granted = await self._request(self._build_request(requested, minimum, for_writing=for_writing))
            if granted is None:
                return None
            self._remaining = add_amounts(self.remaining, granted)
        limits = self._workflow.apply_budget_revision(self._limits)
        reserved = requested if is_sufficient(self.remaining, requested, limits) else minimum
        self._remaining = add_amounts(self.remaining, reserved, -1)
        return reserved

    async def reserve_expected(self, expected: BudgetAmounts, *, for_writing: bool) -> BudgetAmounts | None:
        """Reserve what a call is expected to use of an effort, or None if the effort is exhausted.

        A child announces its calls with its next news and does not wait for the run. It requests what exceeds its
        share of the effort.
        """
        progress = self._progress
        while progress is not None and self._workflow.control.budget_revision.by_effort:
            self._void_earlier_amounts()
            announced, used = add_amounts(self._announced, expected), self._used()
            if self._is_covered(add_amounts(used, announced), progress.ended_parts.values()):
                self._announced = progress.expected = announced
                progress.for_writing = for_writing
                return expected
            await progress.send()  # the run has to know what ended parts have used
            request = self._build_request(expected, expected, for_writing=for_writing)
            granted = await self._request(
                request.model_copy(update={"minimum": expected, "used": used, "in_progress": self._announced})
            )
            if granted is None:
                return None
            if granted != BudgetAmounts():
                self._announced = progress.expected = add_amounts(self._announced, expected)
                return expected
        return await self.reserve(expected, expected, for_writing=for_writing)

    def _is_covered(self, amounts: BudgetAmounts, ended_parts: Collection[Usage]) -> bool:
        """Return whether the workflow may use amounts of an effort without a request.

        Each part has a share of the effort. A workflow whose own children have ended works alone, and has what they
        have left.
        """
        revision = self._workflow.control.budget_revision
        if not ended_parts or self._workflow.children:
            return is_covered(amounts, revision.unasked)
        return is_covered(add_amounts(amounts, compute_used_amounts(merge_usage(ended_parts))), revision.left)

    async def _request(self, request: BudgetRequest) -> BudgetAmounts | None:
        """Return the granted amounts, nothing if the limits have changed, or None if a budget is exhausted."""
        grant = await self._source(request) or refuse(request, self._workflow.apply_budget_revision(self._limits))
        await workflow.wait_condition(lambda: self._current_revision >= grant.budget_revision)
        if request.budget_revision != self._current_revision:
            return BudgetAmounts()
        if grant.exhausted is not None:
            self._workflow.change_control(finishing=True, exhausted=grant.exhausted)
            return None
        return grant.amounts

    def release(self, reserved: BudgetAmounts, used: BudgetAmounts, revision: int) -> None:
        """Return the unused part of a reservation made under a budget revision; a call that used more leaves a debt."""
        remaining = self.remaining
        if revision != self.revision:
            return
        if self._progress is not None and self._workflow.control.budget_revision.by_effort:
            self._announced = self._progress.expected = add_amounts(self._announced, reserved, -1)
        else:
            self._remaining = add_amounts(remaining, add_amounts(reserved, used, -1))

    def _build_request(self, requested: BudgetAmounts, minimum: BudgetAmounts, *, for_writing: bool) -> BudgetRequest:
        self.request_count += 1
        remaining, revised, self._revised = self.remaining, self._revised, False
        # An effort is about as much as a run needs, so no part may hold calls in advance that another needs.
        calls = 1 if self._workflow.control.budget_revision.by_effort else PREFETCH_CALLS
        return BudgetRequest(
            reporter=workflow.info().workflow_id,
            number=self.request_count,
            minimum=BudgetAmounts(**{name: max(missing, 0) for name, missing in add_amounts(minimum, remaining, -1)}),
            wanted=BudgetAmounts(**{name: amount * calls for name, amount in requested}),
            for_writing=for_writing,
            budget_revision=self.revision,
            used=self._used() if revised else None,
        )


def request_by_signal(child: ControllableWorkflow, run: str) -> BudgetSource:
    """Return the budget source of a child workflow: the account of its run, requested by signal."""

    async def source(request: BudgetRequest) -> BudgetGrant | None:
        handle = workflow.get_external_workflow_handle(run)
        if not await send_signal(handle, "request_budget", request):
            return None
        await workflow.wait_condition(lambda: request.number in child.grants)
        return child.grants.pop(request.number)

    return source
