"""Clarify an ambiguous question: ask a person once, before the research begins."""

from collections.abc import Sequence

from temporalio import workflow

from workflows.run.interactive import InteractiveRun
from workflows.runtime.clients import ActivityClients

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.text.known_urls import list_hosts
    from tenure.algorithms.text.questions import shorten
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.run.control import InputRequest
    from tenure.roles.research import clarifier
    from tenure.roles.research.clarifier import ClarifierInput

MAX_PASSAGES = 12
"""Passages by which the role judges what a question may mean."""
MAX_ANSWER_CHARACTERS = 2_000
"""Characters of an answer that become part of the question."""


async def clarify_question(
    run: InteractiveRun, clients: ActivityClients, question: str, evidence: Sequence[PassageRef]
) -> str:
    """Return a question with its meaning clarified: unchanged, with the person's answer, or with the assumption.

    No person is asked if the question is clear, the outline is set, or the run is finishing.
    """
    if _is_pointless(run):
        return question
    output = await clients.models.ask(
        clarifier.ROLE, ClarifierInput(question=question), evidence[:MAX_PASSAGES], summary=question
    )
    if _is_pointless(run) or not output.question:
        return question
    reply = await run.wait_for_input(
        InputRequest(
            reporter=workflow.info().workflow_id,
            number=0,
            kind="clarification",
            text=output.question,
            assumption=output.assumption,
        )
    )
    if reply.text:
        return _append_answer(question, reply.text)
    # Web pages that the question names may be read; the model must not name one in place of the person.
    if run.is_finishing or list_hosts(output.assumption) - list_hosts(question):
        return question
    return _append_answer(question, output.assumption)


def _append_answer(question: str, answer: str) -> str:
    """Return a question with an answer in brackets at its end."""
    text = shorten(" ".join(answer.split()).strip(" .?!"), MAX_ANSWER_CHARACTERS)
    mark = "?" if question.rstrip().endswith("?") else ""
    return f"{question.rstrip(' ?.!')} ({text}){mark}" if text else question


def _is_pointless(run: InteractiveRun) -> bool:
    """Whether the meaning of the question no longer matters: the outline is set, or the run is finishing."""
    return run.is_finishing or run.control.outline is not None
