"""The purse of a workflow: what the run has granted it of its budget and it has not used yet.

A child fills it by a signal to the run and waits for the answer; the run fills its own from the
account directly. Where nothing is limited nobody asks anything. When people change the bounds, what was
granted under the old ones is void on both sides, so that lower ones hold from the next call on.
"""

from collections.abc import Awaitable, Callable

from temporalio import workflow

from workflows.runtime.control import Steered

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.budget import added, covers, without
    from tenure.contracts.run.budget import Amounts, Draw, Grant
    from tenure.contracts.run.run import Limits

AHEAD = 4
"""Calls for which is asked at once, where the budget is large enough."""

Till = Callable[["Draw"], Awaitable["Grant"]]
"""What answers a draw."""


class Purse:
    """What one workflow may use; where a draw is refused, the workflow stands as one whose budget is used up."""

    def __init__(self, steered: Steered, limits: Limits, till: Till, used: Callable[[], Amounts]) -> None:
        """Ask `till` for what is needed within limits; `used` tells what the workflow has used in all."""
        self._steered = steered
        self._limits = limits
        self._till = till
        self._used = used
        self._left = Amounts()
        self._anew = False
        self.number = self._known
        self.draws = 0

    @property
    def left(self) -> Amounts:
        """What is granted under the present bounds and not used."""
        if self.number != self._known:
            self.number, self._left, self._anew = self._known, Amounts(), True
        return self._left

    def go_on(self, left: Amounts, draws: int) -> None:
        """Go on with what this workflow was granted before its history was begun anew."""
        self._left, self.draws = left, draws

    @property
    def _known(self) -> int:
        return self._steered.stance.allotment.number

    async def take(self, wanted: Amounts, least: Amounts, *, closing: bool = False) -> Amounts | None:
        """Reserve what is wanted, or the least where there is no more; None where not even that is there."""
        while not covers(self.left, least, self._steered.bounds(self._limits)):
            draw = self._draw(wanted, least, closing=closing)
            grant = await self._till(draw)
            await workflow.wait_condition(lambda: self._known >= grant.allotment)  # noqa: B023 - awaited at once
            if draw.allotment != self._known:
                continue
            if grant.spent is not None:
                self._steered.stand(finishing=True, spent=grant.spent)
                return None
            self._left = added(self.left, grant.amounts)
        taken = wanted if covers(self.left, wanted, self._steered.bounds(self._limits)) else least
        self._left = without(self.left, taken)
        return taken

    def give_back(self, taken: Amounts, used: Amounts, number: int) -> None:
        """Put back what a call reserved under the bounds of a number and did not use; more than that leaves a debt."""
        left = self.left
        if number == self.number:
            self._left = added(left, without(taken, used))

    def _draw(self, wanted: Amounts, least: Amounts, *, closing: bool) -> Draw:
        self.draws += 1
        left, anew, self._anew = self.left, self._anew, False
        return Draw(
            reporter=workflow.info().workflow_id,
            number=self.draws,
            least=Amounts(**{name: max(short, 0) for name, short in without(least, left)}),
            wanted=Amounts(**{name: amount * AHEAD for name, amount in wanted}),
            closing=closing,
            allotment=self.number,
            used=self._used() if anew else None,
        )


def by_signal(steered: Steered, run: str) -> Till:
    """Return the till of a child: the run's account, asked by signal."""

    async def till(draw: Draw) -> Grant:
        await workflow.get_external_workflow_handle(run).signal("draw", draw)
        await workflow.wait_condition(lambda: draw.number in steered.grants)
        return steered.grants.pop(draw.number)

    return till


async def unlimited(draw: Draw) -> Grant:
    """Grant whatever is wanted: the till of a workflow that belongs to no run."""
    return Grant(number=draw.number, amounts=draw.wanted, allotment=draw.allotment)
