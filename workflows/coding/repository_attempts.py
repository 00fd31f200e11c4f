"""Make several attempts at a task concurrently, each in files of its own, on one preparation and one budget.

An attempt is a child workflow that starts from the state of the work after its preparation. So set-up, index and tests
of the commit are paid once, and an attempt that runs long continues in a new history as a single one does.
"""

import asyncio
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ChildWorkflowError, is_cancelled_exception

from workflows.coding.repository_work import RepositoryWork
from workflows.runtime.control import send_signal
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.coding.engineering import RepositoryRequest, RepositoryState
    from tenure.contracts.research.report import ReportDraft


async def run_attempts(work: RepositoryWork, run: Any) -> tuple[ReportDraft, ...]:
    """Return the results of all attempts in their order, when the last one has ended.

    `run` is the method that runs their workflow.
    """
    await work.prepared.finish_tests()
    work.keep_preparation()
    state = work.get_state()
    beginning = "\n\n".join(filter(None, (state.beginning, *work.prepared.read_news())))
    state = state.model_copy(update={"beginning": beginning})
    work.is_delegated = True
    numbers = range(1, work.request.limits.candidates + 1)
    return tuple(await asyncio.gather(*(_run_attempt(work, run, state, number) for number in numbers)))


async def _run_attempt(work: RepositoryWork, run: Any, state: RepositoryState, number: int) -> ReportDraft:
    """Return the result of one attempt; one whose workflow was ended from outside leaves nothing."""
    request = _build_request(work, state, number)
    child_id, known = f"{workflow.info().workflow_id}/{number}", len(request.feedback)
    try:
        async with work.run_child(run, request, child_id, f"attempt {number}", known) as child:
            if work.cancelled:
                await send_signal(child, "cancel")
            draft: ReportDraft = await child
    except ChildWorkflowError as error:
        if is_cancelled_exception(error) and workflow.cancellation_reason() is not None:
            raise
        reason = f"Ended because a step failed permanently: {describe_failure(error)}"
        return ReportDraft(
            id=work.request.run, mode="CODE", question=work.request.question, decisions=(reason,), status="failed"
        )
    work.clients.progress.report_end_of(draft.progress)
    return draft.model_copy(update={"progress": None})


def _build_request(work: RepositoryWork, state: RepositoryState, number: int) -> RepositoryRequest:
    """Return the request of an attempt, whose files are its own."""
    workspace = state.workspace.model_copy(update={"candidate": number})
    own = state.model_copy(
        update={
            "workspace": workspace,
            "opened": state.opened.model_copy(update={"workspace": workspace}),
            "progress": state.progress.model_copy(update={"attempt": number}),
        }
    )
    return work.request.model_copy(
        update={
            "attempt": number,
            "state": own,
            "feedback": tuple(work.feedback_items),
            "control": work.control,
        }
    )
