"""Handle the commands that people send to a run: check each one, apply or refuse it, and reply.

The update `steer` carries any command and replies with its effect; a command that cannot be applied is rejected before
it is recorded. The same commands exist as plain signals, which have no reply, so refused signals are listed in the
report. An input request of a part of the run waits here for its reply, with a timer that survives worker and client,
and ends with the announced assumption.

A workflow task must end within two seconds, so only a few signals are applied in one; the others of a burst wait in a
bounded queue for the next tasks.
"""

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ApplicationError

from workflows.run.signal_queue import SignalQueue
from workflows.runtime.control import ControllableWorkflow, send_signal
from workflows.runtime.stopwatch import Stopwatch
from workflows.runtime.story_log import format_time

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.steering import (
        RunSituation,
        convert_answer,
        convert_to_feedback,
        describe_effect,
        find_refusal,
        parse_command,
    )
    from tenure.algorithms.research.outline_edits import revise_outline
    from tenure.algorithms.research.research_state import append_log
    from tenure.contracts.choices import RunStatus
    from tenure.contracts.research.trace import ControlRecord
    from tenure.contracts.run.control import (
        BudgetBounds,
        CommandName,
        InputReply,
        InputRequest,
        RunCommand,
    )
    from tenure.contracts.run.run import Feedback

COMMAND_REFUSED = "Refused"
"""Type of the error for a refused command; its message is one line for the person."""

REMINDER_SHARE = 0.5
"""Share of the waiting time after which a person is reminded of an input request."""


def _accept_signal(name: CommandName, description: str) -> Callable[..., Coroutine[Any, Any, None]]:
    """Return the handler of a signal that is a command in any form that a person types.

    It accepts arguments that it ignores: a missing parameter would fail the workflow task for ever.
    """

    async def handle(self: Any, argument: Any = None, *ignored: Any) -> None:
        await self.signal_queue.handle(name, argument)

    return workflow.signal(name=name, description=description)(handle)


class InteractiveRun(ControllableWorkflow):
    """Base of the workflow that people control."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled = False
        self.discarded = False
        self.asked_to_finish = False
        self.is_delegated = False
        """Whether a child workflow was started. Messages of children before that were sent to an execution before a
        reset, after the time to which it was reset; the server delivers them again."""
        self.refusals: tuple[str, ...] = ()
        self.signal_queue = SignalQueue(self._apply_signal)
        self.input_request: InputRequest | None = None
        self._reply: InputReply | None = None

    def describe_situation(self) -> RunSituation:
        """Return everything that decides whether a command can be applied."""
        raise NotImplementedError

    async def stop(self) -> None:
        """Stop the running work."""
        raise NotImplementedError

    async def change_budget(self, budget: BudgetBounds) -> None:
        """Apply new limits."""
        raise NotImplementedError

    async def add_clarification(self, answer: Feedback) -> None:
        """Store a person's clarification of the question."""
        raise NotImplementedError

    def write_note(self, line: str) -> None:
        """Add a line to the notes of the run and display it."""
        raise NotImplementedError

    @property
    def open_question(self) -> InputRequest | None:
        """Input request that a person may still answer."""
        return self.input_request if self._reply is None else None

    @property
    def current_status(self) -> RunStatus:
        """Status of the running run."""
        if self.is_paused:
            return "paused"
        return "waiting" if self.input_request else "running"

    @workflow.update(description="Send a command: a name and what belongs to it; replies with its effect.")
    async def steer(self, command: RunCommand) -> str:
        """Apply a command and return its effect."""
        affected = describe_effect(command, self.describe_situation())
        await self._apply_command(command)
        return affected

    @steer.validator
    def _validate(self, command: RunCommand) -> None:
        if reason := find_refusal(command, self.describe_situation()):
            raise ApplicationError(reason, type=COMMAND_REFUSED)

    pause = _accept_signal("pause", "Pause the run: nothing new starts until it is resumed.")
    resume = _accept_signal("resume", "Resume a paused run.")
    finish = _accept_signal("finish", "Stop gathering and deliver what there is; a paused run is resumed for that.")
    feedback = _accept_signal("feedback", "Give feedback to the run: a text, or an object with text and topic.")
    cancel = _accept_signal(
        "cancel", 'Stop immediately and deliver the text written so far; with {"discard": true} nothing.'
    )
    outline = _accept_signal(
        "outline", "Set the outline: a list of headings, or of objects with heading, question and renamed_from."
    )
    budget = _accept_signal("budget", "Change limits: an object with max_tokens, max_cost_usd, max_calls, and so on.")
    approve = _accept_signal("approve", "Approve the plan that waits for approval.")
    answer = _accept_signal("answer", "Answer the question that the run has asked.")

    @workflow.signal(unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    async def request_input(self, request: InputRequest) -> None:
        """Ask a person on behalf of a child workflow; sent by workflows only."""
        if not self.is_delegated:
            return
        reply = await self.wait_for_input(request)
        await send_signal(workflow.get_external_workflow_handle(request.reporter), "receive_input_reply", reply)

    async def wait_for_input(self, request: InputRequest) -> InputReply:
        """Ask a person and return the reply, which is empty if no person answers in time."""
        seconds = self.describe_situation().limits.answer_seconds
        deadline = workflow.now() + timedelta(seconds=seconds)
        self.input_request = request.model_copy(update={"deadline": deadline.isoformat(timespec="seconds")})
        self._reply = None
        self.write_note(f"asks: {request.text}")
        self.handle_control_change()
        try:
            reply = await self._wait_for_reply(request, seconds)
        finally:
            self.input_request = None  # a run that was cancelled meanwhile asks for nothing any more
        self.handle_control_change()
        return reply

    async def _wait_for_reply(self, request: InputRequest, seconds: float) -> InputReply:
        """Wait for a person, remind them once, and note the assumption when the time is up."""
        watch = Stopwatch(lambda: self.is_paused)

        def is_over() -> bool:
            return self._reply is not None or self.is_finishing

        if await watch.wait_until(lambda: seconds * REMINDER_SHARE, "half of the time for an answer", is_over):
            self.write_note(f"still waits for an answer; without one it assumes: {request.assumption}")
            await watch.wait_until(lambda: seconds, "the time for an answer", is_over)
        if self._reply is None and not self.is_finishing:
            self.write_note(f"no answer to “{request.text}”; assumed: {request.assumption}")
        return self._reply or InputReply(number=request.number)

    async def _apply_signal(self, name: CommandName, argument: Any) -> None:
        """Apply the command of a signal, or note why it is refused: a signal has no reply."""
        try:
            command = parse_command(name, argument)
            reason = find_refusal(command, self.describe_situation())
        except ValueError as error:
            reason = str(error)
        if reason:
            self.refusals = append_log(self.refusals, f"A signal “{name}” was refused: {reason}.")
            self.write_note(self.refusals[-1])
        else:
            await self._apply_command(command)

    async def _apply_command(self, command: RunCommand) -> None:
        """Apply a command that was checked, and record it; the log of feedback has feedback."""
        if command.name != "feedback":
            self.log.add(ControlRecord(at=format_time(workflow.now()), signal=command.name))
        match command.name:
            case "feedback":
                await self._add_feedback(convert_to_feedback(command))
            case "pause":
                await self.update_control(self.change_control(paused=True))
            case "resume":
                await self.update_control(self.change_control(paused=False))
            case "finish":
                self.asked_to_finish = True
                await self.update_control(self.change_control(paused=False, finishing=True))
            case "cancel":
                await self._cancel(discard=command.discard)
            case "outline":
                outline = revise_outline(self.control.outline, command.outline)
                await self.update_control(self.change_control(outline=outline))
            case "budget":
                await self.change_budget(command.budget)
            case "approve" | "answer":
                await self._answer_question(command)

    async def _cancel(self, *, discard: bool) -> None:
        self.discarded = self.discarded or discard
        if self.cancelled:
            return
        self.cancelled = True
        self.change_control(paused=False, finishing=True)
        self.handle_control_change()
        await self.stop()

    async def _add_feedback(self, feedback: Feedback) -> None:
        """Store feedback, which is the reply to an input request that accepts it."""
        await self.add_feedback(feedback)
        if (request := self.open_question) and request.accepts_feedback:
            self._reply = InputReply(number=request.number, feedback=feedback.text, text=feedback.text)

    async def _answer_question(self, command: RunCommand) -> None:
        """Reply to the open input request, and forward any feedback in the answer to all parts of the run."""
        request = self.open_question
        assert request is not None, "the command was checked"
        text = command.text.strip()
        feedback = convert_answer(request, command.text) if text else None
        approved = command.name == "approve"
        self._reply = InputReply(
            number=request.number, feedback=feedback.text if feedback else "", text=text, approved=approved
        )
        if feedback and request.reporter == workflow.info().workflow_id:
            await self.add_clarification(feedback)
        elif feedback:
            await self.add_feedback(feedback)
