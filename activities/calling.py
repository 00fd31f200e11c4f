"""A model call as an activity: what it has received and paid travels in its heartbeats, for people and for retries.

An answer is worth money, so it leaves with a heartbeat of its own as soon as it is there. Tokens that
come in are only good to look at and wait for the next heartbeat that is due anyway.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.service import RPCError, RPCStatusCode

from activities.heartbeat import heartbeating
from tenure.contracts.run.role_calls import CallProgress
from tenure.models.chat import InFlight, TransportError

PATIENCE = 2.0
"""Seconds that Temporal may take to record the id of a response, each time it is asked to."""

PAUSES = (0.0, 0.2, 0.5)
"""Seconds before each of these times; all of it is less than the silence after which a call counts as dead."""


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
        # The worker sends the newest details it was told, but late and after older ones that are on their way.
        # Told first, they replace what it holds back, and nothing old can follow what is recorded here.
        activity.heartbeat(progress())
        await _record(progress())

    call = InFlight(earlier.answers, earlier.response, changed, _is_abandoned, recorded)
    async with heartbeating(lambda: (progress(),)):
        yield call


async def _record(progress: CallProgress) -> None:
    """Wait until Temporal has these details: the response they name is paid from here on.

    Raises:
        TransportError: it does not take them.
    """
    handle = activity.client().get_async_activity_handle(task_token=activity.info().task_token)
    why = ""
    for pause in PAUSES:
        await asyncio.sleep(pause)
        try:
            async with asyncio.timeout(PATIENCE):
                await handle.heartbeat(progress)
        except AsyncActivityCancelledError:  # it has them; the cancellation itself comes by the usual way
            return
        except TimeoutError:
            why = "no answer"
        except RPCError as error:
            why = error.status.name
            if error.status == RPCStatusCode.NOT_FOUND:  # the call is over
                break
        else:
            return
    raise TransportError(f"Temporal did not record which response a call waits for ({why}); it is asked for anew")


def _earlier() -> CallProgress | None:
    """Return how far an earlier attempt came, None for the first one."""
    details = activity.info().heartbeat_details
    return CallProgress.model_validate(details[0]) if details else None


def _is_abandoned() -> bool:
    """Whether nobody waits for the call any more; in every other case another attempt goes on with it."""
    why = activity.cancellation_details()
    return why is not None and (why.cancel_requested or why.not_found)
