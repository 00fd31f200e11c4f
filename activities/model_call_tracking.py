"""Track a model call in heartbeats, so that people can watch it and a retry continues it.

An answer costs money, so it is stored before another one is requested. Token counts and the text of an arriving report
are only displayed and wait for the next regular heartbeat.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.service import RPCError, RPCStatusCode

from activities.heartbeat import send_heartbeats
from tenure.contracts.run.role_calls import CallProgress
from tenure.models.answer_parsing import InvalidAnswer, strip_reasoning
from tenure.models.chat import ModelCall
from tenure.models.errors import TransportError

RECORD_TIMEOUT_SECONDS = 2.0
"""Time that Temporal may take to record the id of a response, for each attempt."""

RECORD_PAUSES_SECONDS = (0.0, 0.2, 0.5)
"""Pauses before the attempts; in total shorter than the heartbeat timeout."""


@asynccontextmanager
async def track_model_call(preview: Callable[[str], str] | None = None) -> AsyncIterator[ModelCall]:
    """Send heartbeats during a model call, and continue from the answers of an earlier attempt of this activity.

    Args:
        preview: returns the part of an incomplete answer that people may read; None to show them no text.
    """
    details = activity.info().heartbeat_details
    earlier = CallProgress.model_validate(details[0]) if details else CallProgress()

    def progress() -> CallProgress:
        partial = call.read_partial()
        return CallProgress(
            tokens=partial.tokens,
            text=_read_preview(preview, partial.text) if preview else "",
            response_id=call.response_id,
            answers=tuple(call.answers),
        )

    async def save(_: ModelCall) -> None:
        # The worker sends heartbeat details late and possibly out of order. These replace the delayed ones, so that no
        # older details can arrive after the record.
        activity.heartbeat(progress())
        await _record_progress(progress())

    call = ModelCall(earlier.answers, earlier.response_id, _is_abandoned, save)
    async with send_heartbeats(lambda: (progress(),)):
        try:
            yield call
        except BaseException:
            activity.heartbeat(progress())  # the failure delivers it, so that the next attempt has all answers
            raise


def _read_preview(preview: Callable[[str], str], text: str) -> str:
    """Return the readable part of an incomplete answer, which its reasoning does not belong to."""
    try:
        return preview(strip_reasoning(text))
    except InvalidAnswer:
        return ""


async def _record_progress(progress: CallProgress) -> None:
    """Wait until Temporal has stored these details: from then on the response they name need not be paid for again.

    Raises:
        TransportError: Temporal does not store them.
    """
    handle = activity.client().get_async_activity_handle(task_token=activity.info().task_token)
    reason = ""
    for pause in RECORD_PAUSES_SECONDS:
        await asyncio.sleep(pause)
        try:
            async with asyncio.timeout(RECORD_TIMEOUT_SECONDS):
                await handle.heartbeat(progress)
        except AsyncActivityCancelledError:  # stored; the cancellation itself arrives as usual
            return
        except TimeoutError:
            reason = "no answer"
        except RPCError as error:
            reason = error.status.name
            if error.status == RPCStatusCode.NOT_FOUND:  # the activity has ended
                break
        else:
            return
    raise TransportError(f"Temporal did not record which response a call waits for ({reason}); it is requested again")


def _is_abandoned() -> bool:
    """Whether no attempt will continue the call; in every other case another attempt does."""
    details = activity.cancellation_details()
    return details is not None and (details.cancel_requested or details.not_found)
