"""Clarifying a question: a person is asked once what it leaves open, before anything is built upon it (DESIGN §7)."""

from collections.abc import Sequence

from temporalio import workflow

from workflows.run.interactive import Led
from workflows.runtime.calls import Calls

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.fallback.ambiguity import as_meant
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.run.control import Question
    from tenure.roles.research.clarifier import ClarifierInput

SHOWN = 12
"""Passages by which it is judged what a question may mean."""


async def clarified(run: Led, calls: Calls, question: str, evidence: Sequence[PassageRef]) -> str:
    """Return a question as it is meant: as it stands, or with what a person answers, or with what is assumed.

    Nobody is asked about a question that is clear, nor where a person has set the outline or wants to finish.
    """
    if _needless(run):
        return question
    seen = await calls.role(
        RoleActivities.clarifier, ClarifierInput(question=question), evidence[:SHOWN], summary=question
    )
    if _needless(run) or not seen.question:
        return question
    answer = await run.put(
        Question(
            reporter=workflow.info().workflow_id,
            number=0,
            kind="clarification",
            text=seen.question,
            assumed=seen.assumption,
        )
    )
    if answer.said or not run.finishing:
        return as_meant(question, answer.said or seen.assumption)
    return question


def _needless(run: Led) -> bool:
    """Tell whether the question matters no more: a person has set the outline, or the run is to end."""
    return run.finishing or run.stance.outline is not None
