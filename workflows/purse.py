"""The purse of a workflow: what the run has granted it of its budget and it has not used yet.

A child fills it by a signal to the run and waits for the answer; the run fills its own from the
account directly. Where nothing is limited nobody asks anything.
"""

from collections.abc import Awaitable, Callable

from temporalio import workflow

from workflows.steering import Steered

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.budget import added, covers, without
    from tenure.contracts.budget import Amounts, Draw, Grant
    from tenure.contracts.run import Limits

AHEAD = 4
"""Calls for which is asked at once, where the budget is large enough."""

Till = Callable[["Draw"], Awaitable["Grant"]]
"""What answers a draw."""


class Purse:
    """What one workflow may use; where a draw is refused, the workflow stands as one whose budget is used up."""

    def __init__(self, steered: Steered, limits: Limits, till: Till) -> None:
        self._steered = steered
        self._limits = limits
        self._till = till
        self.left = Amounts()
        self.draws = 0

    async def take(self, wanted: Amounts, least: Amounts, *, closing: bool = False) -> Amounts | None:
        """Reserve what is wanted, or the least where there is no more; None where not even that is there."""
        while not covers(self.left, least, self._limits):
            grant = await self._till(self._draw(wanted, least, closing=closing))
            if grant.spent is not None:
                self._steered.stand(paused=False, finishing=True, spent=grant.spent)
                return None
            self.left = added(self.left, grant.amounts)
        taken = wanted if covers(self.left, wanted, self._limits) else least
        self.left = without(self.left, taken)
        return taken

    def give_back(self, taken: Amounts, used: Amounts) -> None:
        """Put back what a call reserved and did not use; one that used more than that leaves a debt."""
        self.left = added(self.left, without(taken, used))

    def _draw(self, wanted: Amounts, least: Amounts, *, closing: bool) -> Draw:
        self.draws += 1
        return Draw(
            reporter=workflow.info().workflow_id,
            number=self.draws,
            least=Amounts(**{name: max(short, 0) for name, short in without(least, self.left)}),
            wanted=Amounts(**{name: amount * AHEAD for name, amount in wanted}),
            closing=closing,
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
    return Grant(number=draw.number, amounts=draw.wanted)
