"""Repair a repository without a model: search for a small edit that makes its failing tests pass."""

from temporalio import workflow

from workflows.coding.repository_work import RepositoryWork
from workflows.runtime.optional_step import MODEL_STEP_LIMIT, run_optional_step

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.coding.project_repair import describe_repair, describe_unrepaired, list_named_tests
    from tenure.contracts.coding.repositories import ProjectRepairReply, ProjectRepairRequest, RepositoryStep


async def search_repair(work: RepositoryWork) -> ProjectRepairReply | None:
    """Search for an edit and record it in the state; return the result, or None if there is nothing to search for."""
    seconds = work.request.limits.repair_seconds
    place, baseline = await work.prepared.prepare_commands(), await work.prepared.finish_tests()
    if (
        not seconds
        or work.is_finishing
        or baseline is None
        or baseline.error
        or place.environment.ecosystem != "python"
    ):
        return None
    # A file that cannot be imported has no test, and no line that one executes.
    failing = tuple(test.id for test in baseline.tests if test.outcome in ("failed", "error") and "::" in test.id)
    if not failing:
        return None
    work.clients.progress.report(phase="change", last="searching for a small edit near what the failing tests execute")
    state = work.get_state()
    searching = work.clients.sandbox.repair_project(
        ProjectRepairRequest(
            workspace=state.workspace,
            environment=place.environment,
            failing=failing,
            targets=list_named_tests(work.request.question, failing),
            baseline=baseline.passed_digest,
            seconds=seconds,
        ),
        summary=f"{len(failing)} failing tests",
    )
    reply: ProjectRepairReply | None = await run_optional_step(
        searching, None, "No repair could be searched for", work.prepared.notes.append, MODEL_STEP_LIMIT
    )
    if reply is None:
        return None
    if not reply.changes:
        work.prepared.notes.append(describe_unrepaired(reply, seconds))
        return reply
    step = RepositoryStep(
        n=state.progress.steps + 1,
        phase="change",
        action=f"search for a repair among {reply.tried} edits",
        summary=reply.observation.summary[:200],
        patch=reply.workspace.patch,
    )
    work.record_steps(reply.workspace, reply.change or state.change, [step])
    work.update(report=describe_repair(reply))
    work.clients.progress.report(repository=work.get_state().progress, last=reply.observation.summary[:200])
    return reply
