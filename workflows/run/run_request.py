"""Resolve the request of a run when it starts."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.effort import extend_limits
    from tenure.contracts.base import RunId
    from tenure.contracts.research.fork import ForkOrigin
    from tenure.contracts.run.run import RunRequest


def resolve_request(request: RunRequest, origin: ForkOrigin | None) -> RunRequest:
    """Return the request with the run's id in its web scope, and for a fork with its question and remaining cycles."""
    limits, question = request.limits, request.question
    if origin:
        limits = extend_limits(origin.research.complexity, limits, origin.checkpoint.state.cycle)
        question = origin.research.question  # as a person has made it clear
    if limits.web:
        scope = limits.web.model_copy(update={"run": RunId(workflow.info().workflow_id)})
        limits = limits.model_copy(update={"web": scope})
    return request.model_copy(update={"limits": limits, "question": question})
