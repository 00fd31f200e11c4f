"""Run steps that a run can do without: a step that fails, hangs or has no worker costs a note and nothing else.

The limit of a step bounds its activities by their schedule-to-close timeouts. A timer around the step would end them as
cancelled, which looks like the command of a person; that one ends the step and the run as before.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import timedelta
from typing import TypeVar

from temporalio.exceptions import FailureError, is_cancelled_exception
from temporalio.workflow import ActivityConfig

from workflows.runtime.failures import describe_failure

STEP_LIMIT = timedelta(minutes=5)
"""Time for an activity of a step without a model."""

MODEL_STEP_LIMIT = timedelta(hours=12)
"""Time for an activity of a step with a model: an outage of its server for a night is waited out."""

_limit: ContextVar[timedelta | None] = ContextVar("optional_step_limit", default=None)

T = TypeVar("T")
D = TypeVar("D")


async def run_optional_step(
    step: Awaitable[T], default: D, failure: str, add_note: Callable[[str], object], limit: timedelta = STEP_LIMIT
) -> T | D:
    """Return the result of a step, or a default and a note if it fails.

    Args:
        step: coroutine of the step; the time of child workflows is not limited.
        default: result in place of that of a failed step.
        failure: sentence on the failure, which the reason follows after a colon.
        add_note: receives the note.
        limit: time for each of its activities, retries and waiting for a worker included.
    """
    outer = _limit.get()
    _limit.set(limit if outer is None else min(limit, outer))
    try:
        return await step
    except FailureError as error:
        if is_cancelled_exception(error):
            raise
        add_note(f"{failure}: {describe_failure(error).rstrip('.')}.")
        return default
    finally:
        # Not by a token: a coroutine of a terminated workflow is closed in another context, which refuses the token.
        _limit.set(outer)


def get_step_limit() -> timedelta | None:
    """Return the limit of the optional step that is being run; None for no optional step."""
    return _limit.get()


def limit_by_step(options: ActivityConfig) -> ActivityConfig:
    """Return the options of an activity, with the limit of the optional step that starts it."""
    limit = get_step_limit()
    if limit is None:
        return options
    total = options.get("schedule_to_close_timeout") or limit
    return ActivityConfig(**{**options, "schedule_to_close_timeout": min(total, limit)})
