"""Steering: what people tell a running workflow, and how its children hear it (DESIGN §7).

Every workflow of a run takes the same signals. A pause holds back the next activity, it does not
stop one that runs; a finish lets what has begun end and starts nothing new.
"""

from typing import Any

from temporalio import workflow
from temporalio.exceptions import FailureError

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.run import Feedback


class Steered:
    """Base of workflows that people can steer."""

    def __init__(self) -> None:
        """Start with nobody having said anything."""
        self.paused = False
        self.finishing = False
        self.wishes: list[Feedback] = []
        self.children: dict[str, workflow.ChildWorkflowHandle[Any, Any]] = {}

    async def ready(self) -> None:
        """Wait while a person holds the run."""
        await workflow.wait_condition(lambda: not self.paused)

    @workflow.signal(description="Hold the run: nothing new starts until it is resumed.")
    async def pause(self) -> None:
        """Hold the run."""
        self.paused = True
        await self.steered()
        await self.tell("pause")

    @workflow.signal(description="Let a held run go on.")
    async def resume(self) -> None:
        """Let the run go on."""
        self.paused = False
        await self.steered()
        await self.tell("resume")

    @workflow.signal(description="Stop gathering and deliver what there is.")
    async def finish(self) -> None:
        """Stop gathering and deliver what there is; a held run goes on to do so."""
        self.finishing = True
        self.paused = False
        await self.steered()
        await self.tell("finish")

    @workflow.signal(description="Say something to the run, with an optional topic it is about.")
    async def feedback(self, feedback: Feedback | str) -> None:
        """Take a person's word; from a command line a bare string will do."""
        await self.heard(Feedback(text=feedback) if isinstance(feedback, str) else feedback)

    async def steered(self) -> None:
        """Take note that a person changed `paused` or `finishing`; the run shows it."""

    async def heard(self, feedback: Feedback) -> None:
        """Keep what was said; workflows with children also pass it on."""
        self.wishes.append(feedback)

    async def tell(self, signal: str, *args: Any) -> None:
        """Pass a signal on to every child that still runs."""
        for child in list(self.children.values()):
            await send(child, signal, *args)


async def send(child: workflow.ChildWorkflowHandle[Any, Any], signal: str, *args: Any) -> bool:
    """Signal a child and tell whether it was there to hear it: it may have ended a moment ago."""
    try:
        await child.signal(signal, args=args)
    except FailureError as error:
        workflow.logger.info("child %s did not take signal %s: %s", child.id, signal, error)
        return False
    return True
