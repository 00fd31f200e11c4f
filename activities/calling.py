"""A model call as an activity: what it has received and paid travels in its heartbeats, for people and for retries."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from temporalio import activity

from activities.heartbeat import heartbeating
from tenure.contracts.calls import CallProgress
from tenure.models.chat import InFlight


@asynccontextmanager
async def calling(role: str) -> AsyncIterator[InFlight]:
    """Heartbeat while a role is asked; go on from what an earlier attempt of this activity was answered."""

    def progress() -> CallProgress:
        return CallProgress(role=role, tokens=call.tokens, response=call.response, answers=tuple(call.answers))

    earlier = _earlier()
    call = InFlight(
        answers=earlier.answers if earlier else (),
        response=earlier.response if earlier else "",
        changed=lambda changed: activity.heartbeat(progress()),
        abandoned=lambda: not _worker_stops(),
    )
    async with heartbeating(lambda: (progress(),)):
        yield call


def _earlier() -> CallProgress | None:
    """Return how far an earlier attempt came, None for the first one."""
    details = activity.info().heartbeat_details
    return CallProgress.model_validate(details[0]) if details else None


def _worker_stops() -> bool:
    details = activity.cancellation_details()
    return details is not None and details.worker_shutdown
