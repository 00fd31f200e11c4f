"""Build the result of the work in a repository, and locate what concerns the task without a model."""

from temporalio import workflow

from workflows.coding.repository_work import RepositoryWork
from workflows.runtime.optional_step import MODEL_STEP_LIMIT, run_optional_step

with workflow.unsafe.imports_passed_through():
    from activities.code_index import CodeIndexActivities
    from tenure.algorithms.coding import programs
    from tenure.algorithms.coding.attempts import choose_attempt
    from tenure.algorithms.coding.engineer_news import list_places
    from tenure.contracts.coding.repositories import (
        ActionResult,
        CodeSearchRequest,
        RepositoryChange,
        Workspace,
    )
    from tenure.contracts.research.report import ReportDraft
    from tenure.contracts.result.result import ResultStatus
    from tenure.contracts.run.run import FeedbackRecord

MAX_PLACES = 20


async def locate_places(work: RepositoryWork, workspace: Workspace) -> tuple[str, ...]:
    """Return the places that concern the task: files of failing tests, and what a search finds."""
    baseline = await work.prepared.finish_tests()
    query = CodeSearchRequest(workspace=workspace, query=work.request.question[:1_000])
    searching = work.clients.execute_activity(CodeIndexActivities.search_code, query, summary=query.query)
    found: ActionResult | None = await run_optional_step(
        searching, None, "The code could not be searched", work.prepared.notes.append, MODEL_STEP_LIMIT
    )
    return list_places(baseline, found.text if found and not found.failed else "")[:MAX_PLACES]


def build_draft(work: RepositoryWork) -> ReportDraft:
    """Return the draft of the report with the change as far as it is made."""
    request, state, patch = work.request, work.state, work.patch
    if state is None:
        return _build_unopened(work)
    if work.attempts:
        return _build_chosen(work)
    report = state.report
    proof = state.proof if patch and state.proved_patch == patch.workspace.patch else None
    change = RepositoryChange(
        source=request.task.source,
        commit=state.opened.workspace.commit,
        address=request.task.address,
        cause=report.cause if report else "",
        change=report.change if report else state.progress.plan,
        message=report.text if report else "",
        lesson=report.lesson if report else "",
        patch=patch.text if patch else "",
        files=patch.files if patch else (),
        places=work.places,
        proof=proof,
        environment=work.preparation.environment if work.preparation else state.environment,
        steps=state.steps,
    )
    reason = work.failure and f"Ended because a step failed permanently: {work.failure}"
    return ReportDraft(
        id=request.run,
        mode="CODE",
        question=request.question,
        title=programs.format_title(request.question),
        repository=change,
        decisions=(reason or work.end_reason or "Ended because the change is handed over.",),
        feedback=_build_feedback_records(work),
        fallbacks=tuple(work.clients.record.fallbacks),
        notes=tuple(dict.fromkeys(state.notes)),
        status=_choose_status(work, change),
    )


def _build_chosen(work: RepositoryWork) -> ReportDraft:
    """Return the result of the best attempt, which may have ended before a command or feedback of a person."""
    chosen = choose_attempt(work.attempts)
    status = chosen.status
    if work.cancelled:
        status = "cancelled"
    elif work.is_finishing and status == "done":
        status = "finished_early"
    read = {(record.text, record.topic) for record in chosen.feedback}
    late = [record for record in _build_feedback_records(work) if (record.text, record.topic) not in read]
    return chosen.model_copy(update={"status": status, "feedback": (*chosen.feedback, *late)})


def _build_unopened(work: RepositoryWork) -> ReportDraft:
    """Return the draft of a run that could not open its repository."""
    status: ResultStatus = "cancelled" if work.cancelled else "unsupported" if work.problem else "failed"
    reasons = {
        "cancelled": "Ended because a person cancelled the run.",
        "unsupported": f"Ended because no worker can work in a repository: {work.problem}",
        "failed": f"Ended because the repository cannot be opened: {work.failure}",
    }
    return ReportDraft(
        id=work.request.run,
        mode="CODE",
        question=work.request.question,
        title=programs.format_title(work.request.question),
        decisions=(reasons[status],),
        feedback=_build_feedback_records(work),
        status=status,
    )


def _build_feedback_records(work: RepositoryWork) -> tuple[FeedbackRecord, ...]:
    read = work.state.read_feedback if work.state else 0
    return tuple(
        FeedbackRecord(
            text=feedback.text,
            topic=feedback.topic,
            at="",
            outcome="The model has read it." if n < read else "It came too late to be read.",
        )
        for n, feedback in enumerate(work.feedback_items)
    )


def _choose_status(work: RepositoryWork, change: RepositoryChange) -> ResultStatus:
    if work.cancelled:
        return "cancelled"
    if work.failure:
        return "failed"
    if change.verdict in ("failed", "regressed"):
        return "failing_tests"
    if work.is_finishing:
        return "finished_early"
    is_explained = work.state is not None and work.state.report is not None and not work.end_reason
    if not change.patch:
        # A report without a change is the model's verdict that nothing is wrong; otherwise nothing was achieved.
        return "done" if is_explained else "no_evidence"
    return "done" if is_explained else "finished_early"
