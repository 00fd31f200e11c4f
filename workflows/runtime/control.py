"""Steering: what people tell a running workflow, and how its children hear it (DESIGN §7).

Every workflow of a run takes the same signals. A pause holds back the next activity, it does not
stop one that runs; a finish lets what has begun end and starts nothing new. What people say is passed
on to children as a state, not as a verb: a child that starts late, or hears two words in the wrong
order, still ends up where the run is. A signal takes inputs it has no use for (`beside`): one that did not would
fail the run's next step for ever.
"""

import asyncio
from typing import Any, Protocol

from temporalio import workflow
from temporalio.exceptions import FailureError

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.steering import within
    from tenure.contracts.run.budget import Grant
    from tenure.contracts.run.control import Answer
    from tenure.contracts.run.run import Feedback, Limits, Stance


class Steerable(Protocol):
    """What a steered workflow is started with."""

    @property
    def stance(self) -> Stance:
        """Where the run is."""


class Steered:
    """Base of workflows that people can steer."""

    def __init__(self, stance: Stance | None = None) -> None:
        """Start where the run is; where none is given, with nobody having said anything."""
        self._stance = stance or Stance()
        self.grants: dict[int, Grant] = {}
        self.answers: dict[int, Answer] = {}
        self.wishes: list[Feedback] = []
        self.children: dict[str, workflow.ChildWorkflowHandle[Any, Any]] = {}
        self._telling = asyncio.Lock()

    @property
    def stance(self) -> Stance:
        """What people asked of the run so far, and what its budgets allow."""
        return self._stance

    @property
    def paused(self) -> bool:
        """Whether a person holds the run."""
        return self._stance.paused

    @property
    def finishing(self) -> bool:
        """Whether nothing new is begun."""
        return self._stance.finishing

    def bounds(self, limits: Limits) -> Limits:
        """Return limits as people have changed them since."""
        return within(limits, self._stance.allotment.budget)

    def stand(self, **changed: Any) -> Stance:
        """Change a part of where the run is; return all of it."""
        self._stance = self._stance.model_copy(update=changed)
        return self._stance

    async def ready(self) -> None:
        """Wait while a person holds the run."""
        await workflow.wait_condition(lambda: not self.paused)

    @workflow.signal(description="Hold the run: nothing new starts until it is resumed.")
    async def pause(self, *beside: Any) -> None:
        """Hold the run."""
        await self.take(self.stand(paused=True))

    @workflow.signal(description="Let a held run go on.")
    async def resume(self, *beside: Any) -> None:
        """Let the run go on."""
        await self.take(self.stand(paused=False))

    @workflow.signal(description="Stop gathering and deliver what there is.")
    async def finish(self, *beside: Any) -> None:
        """Stop gathering and deliver what there is; a held run goes on to do so."""
        await self.take(self.stand(paused=False, finishing=True))

    @workflow.signal(description="Say something to this part of the run alone.")
    async def feedback(self, feedback: Feedback) -> None:
        """Take a person's word."""
        await self.heard(feedback)

    @workflow.signal
    async def take(self, stance: Stance) -> None:
        """Be where the run is, and the children with it; sent from workflow to workflow."""
        self._stance = stance
        self.steered()
        await self.tell()

    @workflow.signal
    def granted(self, grant: Grant) -> None:
        """Take the run's answer to a draw; sent from workflow to workflow."""
        self.grants[grant.number] = grant

    @workflow.signal
    def answered(self, answer: Answer) -> None:
        """Take what came of a question; sent from workflow to workflow."""
        self.answers[answer.number] = answer

    def steered(self) -> None:
        """Take note that a person changed where the run is; the run itself shows it."""

    async def heard(self, feedback: Feedback) -> None:
        """Keep what was said, once; workflows with children also pass it on."""
        if feedback not in self.wishes:
            self.wishes.append(feedback)

    async def begin(
        self, name: str, run: Any, request: Steerable, child_id: str, summary: str, known: int | None = None
    ) -> workflow.ChildWorkflowHandle[Any, Any]:
        """Start a child, count it among those that hear, and tell it what it missed while it was started.

        Args:
            name: name it is known by until the caller forgets it.
            run: its run method.
            request: what it is started with, which holds the stance it knows.
            child_id: its workflow id.
            summary: what the web UI shows of it.
            known: number of wishes the request holds; None where a later request brings those it misses.
        """
        child = await workflow.start_child_workflow(run, request, id=child_id, static_summary=summary[:200])
        self.children[name] = child
        missed = [] if known is None else self.wishes[known:]
        if request.stance != self.stance:
            await self.tell()
        for wish in missed:
            await send(child, "feedback", wish)
        return child

    async def tell(self) -> None:
        """Tell the children where the run is; one telling at a time, so that the last one is the newest."""
        async with self._telling:
            for child in list(self.children.values()):
                await send(child, "take", self.stance)


async def send(
    child: workflow.ChildWorkflowHandle[Any, Any] | workflow.ExternalWorkflowHandle[Any], signal: str, *args: Any
) -> bool:
    """Signal a child and tell whether it was there to hear it: it may have ended a moment ago."""
    try:
        await child.signal(signal, args=args)
    except FailureError as error:
        workflow.logger.info("child %s did not take signal %s: %s", child.id, signal, error)
        return False
    return True
