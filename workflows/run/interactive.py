"""Leading a run: what people say to it is checked, followed or refused, and answered (DESIGN §7).

One update carries every word and answers what it will change; a word that cannot be followed is refused before
anything is recorded. The same words come as plain signals, which have no sender to answer, so that the report
tells those that were refused. A question of a part of the run waits here for its answer, by a timer that outlives
worker and client, and ends with what was said to be assumed.
"""

from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.runtime.control import Steered, send
from workflows.runtime.stopwatch import Stopwatch

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.steering import Situation, answered, effect, feedback_of, read, refusal
    from tenure.algorithms.research.outline_edits import following
    from tenure.algorithms.research.research_state import told
    from tenure.contracts.run.control import Acknowledged, Answer, Budget, Question, Steering, Verb
    from tenure.contracts.run.run import Feedback, Status

REFUSED = "Refused"
"""Type of the error by which a word is refused; its message is one line for the person."""

REMINDED = 0.5
"""Share of the waiting after which a person is reminded."""


class Led(Steered):
    """Base of the workflow that people speak to."""

    def __init__(self) -> None:
        """Start with nobody having said anything."""
        super().__init__()
        self.cancelled = False
        self.discarded = False
        self.asked_to_finish = False
        self.refused: tuple[str, ...] = ()
        self.question: Question | None = None
        self._reply: Answer | None = None

    def situation(self) -> Situation:
        """Tell where the run is."""
        raise NotImplementedError

    async def stop(self) -> None:
        """End what is under way."""
        raise NotImplementedError

    async def rebudget(self, budget: Budget) -> None:
        """Let other bounds hold."""
        raise NotImplementedError

    async def explained(self, answer: Feedback) -> None:
        """Keep what a person says of the question itself, which is read with it."""
        raise NotImplementedError

    def noted(self, line: str) -> None:
        """Write a line into the run's log and show it."""
        raise NotImplementedError

    @property
    def unanswered(self) -> Question | None:
        """The question that a person may still answer."""
        return self.question if self._reply is None else None

    @property
    def standing(self) -> Status:
        """How the run stands while it goes on."""
        if self.paused:
            return "paused"
        return "waiting" if self.question else "running"

    @workflow.update(description="Steer the run: a verb and what belongs to it; answers what it will change.")
    async def steer(self, steering: Steering) -> Acknowledged:
        """Follow a person's word and tell what it changes."""
        affects = effect(steering, self.situation())
        await self._follow(steering)
        return Acknowledged(verb=steering.verb, affects=affects)

    @steer.validator
    def _check(self, steering: Steering) -> None:
        if why := refusal(steering, self.situation()):
            raise ApplicationError(why, type=REFUSED)

    @workflow.signal(description="Hold the run: nothing new starts until it is resumed.")
    async def pause(self, *beside: Any) -> None:
        """Hold the run."""
        await self._signalled("pause")

    @workflow.signal(description="Let a held run go on.")
    async def resume(self, *beside: Any) -> None:
        """Let the run go on."""
        await self._signalled("resume")

    @workflow.signal(description="Stop gathering and deliver what there is.")
    async def finish(self, *beside: Any) -> None:
        """Stop gathering and deliver what there is; a held run goes on to do so."""
        await self._signalled("finish")

    @workflow.signal(description="Say something to the run: a text, or an object with text and topic.")
    async def feedback(self, feedback: Any = None, *beside: Any) -> None:
        """Take a person's word, whatever they type."""
        await self._signalled("feedback", feedback)

    @workflow.signal(description='Stop at once and deliver what is written; with {"discard": true} nothing.')
    async def cancel(self, how: Any = None, *beside: Any) -> None:
        """Stop at once; what is written is delivered, unless it is to be discarded."""
        await self._signalled("cancel", how)

    @workflow.signal(description="Set the outline: a list of headings, or of objects with heading, question and was.")
    async def outline(self, topics: Any = None, *beside: Any) -> None:
        """Set the outline."""
        await self._signalled("outline", topics)

    @workflow.signal(description="Change bounds: an object with max_tokens, max_cost_usd, max_calls, and so on.")
    async def budget(self, bounds: Any = None, *beside: Any) -> None:
        """Change the bounds of the run."""
        await self._signalled("budget", bounds)

    @workflow.signal(description="Approve the plan that waits for it.")
    async def approve(self, *beside: Any) -> None:
        """Let the research begin."""
        await self._signalled("approve")

    @workflow.signal(description="Answer the question that the run has asked.")
    async def answer(self, said: Any = None, *beside: Any) -> None:
        """Take the answer to the run's question."""
        await self._signalled("answer", said)

    @workflow.signal(unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    async def asks(self, question: Question) -> None:
        """Put the question of a part of the run to people; not for people to send."""
        answer = await self.put(question)
        await send(workflow.get_external_workflow_handle(question.reporter), "answered", answer)

    async def put(self, question: Question) -> Answer:
        """Put a question to people and wait for what comes of it."""
        until = workflow.now() + timedelta(seconds=self.situation().limits.answer_seconds)
        self.question = question.model_copy(update={"until": until.isoformat(timespec="seconds")})
        self._reply = None
        self.noted(f"asks: {question.text}")
        self.steered()
        try:
            answer = await self._waited(question)
        finally:
            self.question = None  # a run that is cancelled meanwhile asks nothing any more
        self.steered()
        return answer

    async def _waited(self, question: Question) -> Answer:
        """Wait for a person, remind them once, and say what is assumed when the time is up."""
        seconds = self.situation().limits.answer_seconds
        watch = Stopwatch(lambda: self.paused)

        def over() -> bool:
            return self._reply is not None or self.finishing

        if await watch.reach(lambda: seconds * REMINDED, "half of the time for an answer", over):
            self.noted(f"still waits for a person, and assumes unless somebody answers: {question.assumed}")
            await watch.reach(lambda: seconds, "the time for an answer", over)
        if self._reply is None and not self.finishing:
            self.noted(f"nobody answered “{question.text}”; assumed: {question.assumed}")
        return self._reply or Answer(number=question.number)

    async def _signalled(self, verb: Verb, given: Any = None) -> None:
        """Follow a signal, or note why not: nobody waits for its answer."""
        try:
            steering = read(verb, given)
            why = refusal(steering, self.situation())
        except ValueError as error:
            why = str(error)
        if why:
            self.refused = told(self.refused, f"A signal “{verb}” was refused: {why}.")
            self.noted(self.refused[-1])
        else:
            await self._follow(steering)

    async def _follow(self, steering: Steering) -> None:
        """Do what a person asks, which was found to be possible."""
        match steering.verb:
            case "feedback":
                await self.heard(feedback_of(steering))
            case "pause":
                await self.take(self.stand(paused=True))
            case "resume":
                await self.take(self.stand(paused=False))
            case "finish":
                self.asked_to_finish = True
                await self.take(self.stand(paused=False, finishing=True))
            case "cancel":
                await self._cancel(discard=steering.discard)
            case "outline":
                await self.take(self.stand(outline=following(self.stance.outline, steering.outline)))
            case "budget":
                await self.rebudget(steering.budget)
            case "approve" | "answer":
                await self._reply_with(steering)

    async def _cancel(self, *, discard: bool) -> None:
        self.discarded = self.discarded or discard
        if self.cancelled:
            return
        self.cancelled = True
        self.stand(paused=False, finishing=True)
        self.steered()
        await self.stop()

    async def _reply_with(self, steering: Steering) -> None:
        """Let the question that waits have its answer; what a person says with it is heard by all parts of the run."""
        question = self.unanswered
        assert question is not None, "it was found to be there"
        wish = answered(question, steering.text) if steering.text.strip() else None
        self._reply = Answer(number=question.number, wish=wish.text if wish else "", said=steering.text.strip())
        if wish and question.reporter == workflow.info().workflow_id:
            await self.explained(wish)
        elif wish:
            await self.heard(wish)
