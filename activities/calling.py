"""A model call as an activity: what it has received and paid travels in its heartbeats, for people and for retries.

An answer is worth money, so it leaves with a heartbeat of its own as soon as it is there. Tokens that
come in are only good to look at and wait for the next heartbeat that is due anyway.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError

from activities.heartbeat import heartbeating
from tenure.contracts.calls import CallProgress
from tenure.models.chat import InFlight


@asynccontextmanager
async def calling(role: str) -> AsyncIterator[InFlight]:
    """Heartbeat while a role is asked; go on from what an earlier attempt of this activity was answered."""
    earlier = _earlier() or CallProgress(role=role)
    kept = len(earlier.answers)

    def progress() -> CallProgress:
        return CallProgress(role=role, tokens=call.tokens, response=call.response, answers=tuple(call.answers))

    def changed(now: InFlight) -> None:
        nonlocal kept
        if len(now.answers) != kept:
            kept = len(now.answers)
            activity.heartbeat(progress())

    async def recorded(now: InFlight) -> None:
        """Send what there is now and wait until Temporal has it: the response is paid from here on."""
        handle = activity.client().get_async_activity_handle(task_token=activity.info().task_token)
        with suppress(AsyncActivityCancelledError):  # the cancellation itself comes by the usual way
            await handle.heartbeat(progress())

    call = InFlight(earlier.answers, earlier.response, changed, _is_abandoned, recorded)
    async with heartbeating(lambda: (progress(),)):
        yield call


def _earlier() -> CallProgress | None:
    """Return how far an earlier attempt came, None for the first one."""
    details = activity.info().heartbeat_details
    return CallProgress.model_validate(details[0]) if details else None


def _is_abandoned() -> bool:
    """Whether nobody waits for the call any more; in every other case another attempt goes on with it."""
    why = activity.cancellation_details()
    return why is not None and (why.cancel_requested or why.not_found)
