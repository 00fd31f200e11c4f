"""Ask people during the work in a repository about the issue, a plan, a set-up or a patch."""

from temporalio import workflow

from workflows.coding.repository_work import RepositoryWork
from workflows.runtime.control import send_signal

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.text.questions import shorten
    from tenure.contracts.run.control import InputReply, InputRequest

MAX_TEXT_CHARACTERS = 2_000
"""Characters of a question or a plan that a person is shown."""

NO_PERSON = "No person answers here. Decide by the issue and the code, and name the assumption in DONE."


async def ask_person(work: RepositoryWork, question: str) -> str:
    """Return a person's answer to a question of the model, or what it does without one."""
    if not work.request.limits.interactive or work.request.attempt or not question or work.is_finishing:
        return NO_PERSON
    reply = await _request(work, "clarification", question, "the model decides by the issue and the code")
    return f"The person answers: {reply.text}" if reply.text else NO_PERSON


async def request_approval(work: RepositoryWork, question: str, assumption: str) -> InputReply:
    """Wait for the approval of a step, which feedback rejects; without a reply the assumption applies."""
    return await _request(work, "plan", question, assumption, accepts_feedback=True)


async def _request(
    work: RepositoryWork, kind: str, text: str, assumption: str, *, accepts_feedback: bool = False
) -> InputReply:
    """Ask a person through the run and wait for the reply, which is empty if none comes in time."""
    number = work.count_question()
    request = InputRequest(
        reporter=workflow.info().workflow_id,
        number=number,
        kind="plan" if kind == "plan" else "clarification",
        text=shorten(" ".join(text.split()), MAX_TEXT_CHARACTERS),
        assumption=assumption,
        accepts_feedback=accepts_feedback,
    )
    await work.clients.progress.send()
    # The reply arrives by the signal `receive_input_reply` with the same number.
    if not await send_signal(workflow.get_external_workflow_handle(work.request.run), "request_input", request):
        return InputReply(number=number)
    await workflow.wait_condition(lambda: number in work.input_replies)
    reply = work.input_replies.pop(number)
    if reply.feedback:
        # The run sends it to its parts as feedback as well.
        work.answered.append(reply.feedback)
    return reply
