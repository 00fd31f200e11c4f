"""A standing question: the report of a run says what it brings over that of the run before.

The server hands every run of a schedule the result of the last one, so that nothing has to be kept or found. Both
reports are compared here, and the knowledge base is asked only whether the words of the last one still stand.
"""

from datetime import timedelta

from temporalio import workflow

from workflows.runtime.activity_options import PATIENCE, SILENCE
from workflows.runtime.task_queues import TENURE_QUEUE

with workflow.unsafe.imports_passed_through():
    from activities.report import ReportActivities
    from tenure.algorithms.claims.report_changes import changes, quoted, repeated
    from tenure.contracts.result.changes import Changes, Place, StandingRequest, Words
    from tenure.contracts.result.result import Result


async def compared(result: Result) -> Result:
    """Return a report with what it brings over the last one, where there is one that holds something."""
    at = workflow.now().isoformat(timespec="seconds")
    last = workflow.get_last_completion_result(Result) if workflow.has_last_completion_result() else None
    if last is None:
        return result.model_copy(update={"changes": Changes(at=at)})
    stands, repeats = await _stand(quoted(last, result)), await _stand(repeated(last, result))
    return result.model_copy(update={"changes": changes(last, result, stands, repeats, at)})


async def _stand(places: dict[Words, Place]) -> dict[Words, bool]:
    """Ask the knowledge base which words stand where they are looked for."""
    if not places:
        return {}
    reply = await workflow.execute_activity_method(
        ReportActivities.look_whether_words_stand,
        StandingRequest(places=tuple(places.values())),
        task_queue=TENURE_QUEUE,
        start_to_close_timeout=timedelta(minutes=5),
        schedule_to_close_timeout=timedelta(hours=1),
        heartbeat_timeout=SILENCE,
        retry_policy=PATIENCE,
        summary="which words stood or stand in their sources",
    )
    return dict(zip(places, reply.stands, strict=True))
