"""Choose the child workflow that writes a program or changes a repository, and build its request."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from temporalio import workflow

from workflows.run.run_memory import RunMemory

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.base import RunId
    from tenure.contracts.coding.engineering import RepositoryRequest
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.research.fork import RepositoryForkRequest
    from tenure.contracts.result.programs import CodingRequest
    from tenure.contracts.run.run import ControlState, Feedback, PartRequest, RunRequest
    from workflows.coding.coding import CodingWorkflow
    from workflows.coding.repository import RepositoryWorkflow


class CodingPart(NamedTuple):
    """Child workflow of a run."""

    name: str
    """Last part of its id."""
    run: Any
    """Method that runs it."""
    request: PartRequest


async def build_coding_part(
    run: RunId,
    request: RunRequest,
    memory: RunMemory,
    evidence: tuple[PassageRef, ...],
    feedback: Sequence[Feedback],
    control: ControlState,
) -> CodingPart:
    """Return the child that writes a program or, if the run has a repository, changes it; a fork from its origin.

    Lessons of earlier runs are recalled, unless the origin has read its own.
    """
    if isinstance(request, RepositoryForkRequest):
        origin = request.origin
        number = origin.request.state.answers if origin.request.state else 0
        memory.notes.append(
            f"This run continues from answer {number} of {origin.run}, whose usage is not counted here."
        )
        own = {"run": run, "limits": request.limits, "feedback": tuple(feedback), "control": control}
        return CodingPart("repository", RepositoryWorkflow.run, origin.request.model_copy(update=own))
    await memory.recall_lessons()
    if request.repository:
        change = RepositoryRequest(
            run=run,
            question=request.question,
            limits=request.limits,
            task=request.repository,
            evidence=evidence,
            lessons=memory.lessons,
            preferences=memory.experience.preferences,
            feedback=tuple(feedback),
            control=control,
        )
        return CodingPart("repository", RepositoryWorkflow.run, change)
    program = CodingRequest(
        run=run,
        question=request.question,
        limits=request.limits,
        evidence=evidence,
        files=request.files,
        tests=request.tests,
        lessons=memory.lessons,
        preferences=memory.experience.preferences,
        feedback=tuple(feedback),
        control=control,
    )
    return CodingPart("code", CodingWorkflow.run, program)
