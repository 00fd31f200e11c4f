"""Follow a workflow to its end, across restarts of its worker and of the server."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from temporalio.client import WorkflowFailureError, WorkflowHandle
from temporalio.service import RPCError

from tenure.cli.errors import Detached
from tenure.cli.output import Verbosity
from tenure.cli.progress.display import ProgressDisplay, choose_display
from tenure.cli.terminal import make_stderr_console
from tenure.runs.errors import TenureError
from tenure.runs.formatting import describe_failure
from tenure.runs.session.connection import Session, describe_refusal
from tenure.runs.session.monitor import (
    build_progress_query,
    describe_dead_process,
    describe_missing_worker,
    is_lost,
    is_starting,
    read_snapshot,
)
from tenure.runs.session.waiting import RunParts, read_parts, wait_for_result

T = TypeVar("T")

POLL_SECONDS = 0.5
"""Pause between two polls."""

CHILDREN_POLL_SECONDS = 1.0
"""Pause between two polls of a run's child workflows: streamed text and failures."""

WORKER_GRACE_SECONDS = 20.0
"""Time without progress after which a missing worker is reported; a worker needs some seconds to start."""

START_GRACE_SECONDS = 90.0
"""The same if the worker's process is running: on a busy machine its imports take long."""


Reporter = Callable[[ProgressDisplay], Coroutine[Any, Any, None]]
"""Function that shows the state of a workflow until it is cancelled."""


async def follow_workflow(
    session: Session,
    handle: WorkflowHandle[Any, T],
    verbosity: Verbosity,
    *,
    query: bool = False,
    reporter: Reporter | None = None,
) -> T:
    """Show a workflow's progress until it ends, and return its result.

    `query` says whether it answers `progress`; `reporter` shows further progress in the meantime.

    Raises:
        TenureError: the workflow failed.
        Unreachable: the server was away for too long.
        Detached: the user pressed Ctrl-C.
    """
    with choose_display(make_stderr_console(), verbosity) as display:
        ending = asyncio.create_task(wait_for_result(handle, display.say))
        watching = asyncio.create_task(_watch(session, handle, display, query=query))
        reporting = [asyncio.create_task(reporter(display))] if reporter else []
        try:
            done, _ = await asyncio.wait({ending, watching}, return_when=asyncio.FIRST_COMPLETED)
            # Watching ends only by an error; a result that arrived at the same moment takes precedence.
            result = ending.result() if ending in done else await _raise_from(watching)
        except asyncio.CancelledError:
            raise Detached(handle.id) from None
        except WorkflowFailureError as error:
            raise TenureError(f"run {handle.id} failed: {describe_failure(error)}") from error
        except RPCError as error:
            raise describe_refusal(error, handle.id) from error
        finally:
            tasks = (ending, watching, *reporting)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return result


async def _raise_from(watching: asyncio.Task[None]) -> Any:
    """Raise the error that ended the watching."""
    await watching
    raise AssertionError("watching ends by an error only")


async def _watch(session: Session, handle: WorkflowHandle[Any, Any], display: ProgressDisplay, *, query: bool) -> None:
    """Show progress periodically; report once if no worker serves the run."""
    client, server = await session.connect(), session.place
    progress = build_progress_query() if query else None
    began, complaint = time.monotonic(), ""
    looked = began
    parts = RunParts()
    while True:
        try:
            if time.monotonic() - looked >= CHILDREN_POLL_SECONDS:
                looked, parts = time.monotonic(), await read_parts(client, server, handle.id)
            snapshot = replace(
                await read_snapshot(client, handle, progress),
                pending_failures=parts.pending_failures,
                streamed_answers=parts.writings,
                setups=parts.setups,
            )
            problem = "" if snapshot.progress else describe_dead_process(server)
            if snapshot.progress is None and not problem:
                snapshot = replace(snapshot, starting=await is_starting(client, server))
                grace = START_GRACE_SECONDS if snapshot.starting else WORKER_GRACE_SECONDS
                if time.monotonic() - began > grace:
                    problem = await describe_missing_worker(client)
            display.show(snapshot)
            if problem and problem != complaint:
                display.say(problem)
            complaint = problem
        except RPCError as error:
            if not is_lost(error):
                raise
        await asyncio.sleep(POLL_SECONDS)
