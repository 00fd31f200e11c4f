"""Follow a workflow to its end, across restarts of its worker and of the server."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.service import RPCError

from tenure.cli.errors import CommandError, Detached, Unreachable
from tenure.cli.formatting import describe_failure
from tenure.cli.progress.display import ProgressDisplay
from tenure.cli.progress.snapshot import PendingFailure, StreamedAnswer
from tenure.cli.session.connection import describe_refusal
from tenure.cli.session.diagnostics import find_pending_failures
from tenure.cli.session.monitor import (
    build_progress_query,
    describe_dead_process,
    describe_missing_worker,
    is_lost,
    is_starting,
    read_snapshot,
)
from tenure.cli.session.run_tree import describe_run_tree
from tenure.cli.session.server_target import ServerTarget
from tenure.cli.streaming import read_streamed_answers
from tenure.installation import PROGRAM

T = TypeVar("T")

POLL_SECONDS = 0.5
"""Pause between two polls."""

CHILDREN_POLL_SECONDS = 1.0
"""Pause between two polls of a run's child workflows: streamed text and failures."""

WORKER_GRACE_SECONDS = 20.0
"""Time without progress after which a missing worker is reported; a worker needs some seconds to start."""

START_GRACE_SECONDS = 90.0
"""The same if the worker's process is running: on a busy machine its imports take long."""

MAX_OUTAGE_SECONDS = 60.0
"""Time the server may be away before following is given up; the run itself is safe."""


async def follow_workflow(
    client: Client, place: ServerTarget, handle: WorkflowHandle[Any, T], display: ProgressDisplay, *, query: bool = True
) -> T:
    """Show a workflow's progress until it ends, and return its result.

    Args:
        client: connection to the server.
        place: the server.
        handle: the workflow, with the type of its result.
        display: output of the progress.
        query: whether the workflow answers `progress`.

    Raises:
        CommandError: the workflow failed.
        Unreachable: the server was away for too long.
        Detached: the user pressed Ctrl-C.
    """
    ending = asyncio.create_task(wait_for_result(handle, display.say))
    watching = asyncio.create_task(_watch(client, place, handle, display, query=query))
    try:
        done, _ = await asyncio.wait({ending, watching}, return_when=asyncio.FIRST_COMPLETED)
        # Watching ends only by an error; a result that arrived at the same moment takes precedence.
        result = ending.result() if ending in done else await _raise_from(watching)
    except asyncio.CancelledError:
        raise Detached(handle.id) from None
    except WorkflowFailureError as error:
        raise CommandError(f"run {handle.id} failed: {describe_failure(error)}") from error
    except RPCError as error:
        raise describe_refusal(error, handle.id) from error
    finally:
        ending.cancel()
        watching.cancel()
        await asyncio.gather(ending, watching, return_exceptions=True)
    return result


async def follow_with_reports(
    client: Client,
    place: ServerTarget,
    handle: WorkflowHandle[Any, T],
    display: ProgressDisplay,
    telling: Coroutine[Any, Any, None],
) -> T:
    """Follow a workflow that answers no `progress`, while `telling` reports its state periodically.

    Raises:
        CommandError: as for `follow`.
    """
    reporting = asyncio.create_task(telling)
    try:
        return await follow_workflow(client, place, handle, display, query=False)
    finally:
        reporting.cancel()
        await asyncio.gather(reporting, return_exceptions=True)


async def _raise_from(watching: asyncio.Task[None]) -> Any:
    """Raise the error that ended the watching."""
    await watching
    raise AssertionError("watching ends by an error only")


async def wait_for_result(handle: WorkflowHandle[Any, T], say: Callable[[str], None]) -> T:
    """Wait for the result of a workflow, across outages of the server that `say` receives.

    Raises:
        WorkflowFailureError: the workflow failed.
        Unreachable: the server was away for too long.
    """
    lost_since: float | None = None
    while True:
        asked = time.monotonic()
        try:
            return await handle.result()
        except RPCError as error:
            if not is_lost(error):
                raise
        now = time.monotonic()
        if now - asked > MAX_OUTAGE_SECONDS:
            lost_since = None  # it answered in between: this is a new absence
        if lost_since is None:
            lost_since = now
            say(f"the Temporal server does not answer; waiting for it (`{PROGRAM} up` starts a local one)")
        if now - lost_since > MAX_OUTAGE_SECONDS:
            raise Unreachable(
                f"the Temporal server is still unavailable: run `{PROGRAM} up`, then `{PROGRAM} watch {handle.id}`"
            )
        await asyncio.sleep(1.0)


@dataclass(frozen=True)
class RunParts:
    """State of a run's workflows as the server knows it."""

    pending_failures: tuple[PendingFailure, ...] = ()
    writings: tuple[StreamedAnswer, ...] = ()


async def read_parts(client: Client, place: ServerTarget, run_id: str) -> RunParts:
    """Return the failures that block a run and its answers that are arriving.

    Raises:
        RPCError: the server does not answer.
    """
    members = [member async for member in describe_run_tree(client, run_id)]
    return RunParts(await find_pending_failures(client, place, members), await read_streamed_answers(client, members))


async def _watch(
    client: Client, place: ServerTarget, handle: WorkflowHandle[Any, Any], display: ProgressDisplay, *, query: bool
) -> None:
    """Show progress periodically; report once if no worker serves the run."""
    progress = build_progress_query() if query else None
    began, complaint = time.monotonic(), ""
    looked = began
    parts = RunParts()
    while True:
        try:
            if time.monotonic() - looked >= CHILDREN_POLL_SECONDS:
                looked, parts = time.monotonic(), await read_parts(client, place, handle.id)
            snapshot = replace(
                await read_snapshot(client, handle, progress),
                pending_failures=parts.pending_failures,
                streamed_answers=parts.writings,
            )
            found = "" if snapshot.progress else describe_dead_process(place)
            if snapshot.progress is None and not found:
                snapshot = replace(snapshot, starting=await is_starting(client, place))
                grace = START_GRACE_SECONDS if snapshot.starting else WORKER_GRACE_SECONDS
                if time.monotonic() - began > grace:
                    found = await describe_missing_worker(client)
            display.show(snapshot)
            if found and found != complaint:
                display.say(found)
            complaint = found
        except RPCError as error:
            if not is_lost(error):
                raise
        await asyncio.sleep(POLL_SECONDS)
