"""Wait for the end of a workflow, and read what the server knows of the workflows of a run."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from temporalio.client import Client, WorkflowHandle
from temporalio.service import RPCError

from tenure.installation import PROGRAM
from tenure.runs.errors import Unreachable
from tenure.runs.session.diagnostics import find_pending_failures
from tenure.runs.session.monitor import is_lost
from tenure.runs.session.run_tree import describe_run_tree
from tenure.runs.session.server_target import ServerTarget
from tenure.runs.session.snapshot import PendingFailure, RunningSetup, StreamedAnswer
from tenure.runs.session.streaming import read_running_setups, read_streamed_answers

T = TypeVar("T")

MAX_OUTAGE_SECONDS = 60.0
"""Time the server may be away before following is given up; the run itself is safe."""


async def wait_for_result(handle: WorkflowHandle[Any, T], say: Callable[[str], None]) -> T:
    """Wait for the result of a workflow, across outages of the server that `say` receives.

    Raises:
        WorkflowFailureError: the workflow failed.
        Unreachable: the server was away for too long.
    """
    lost_since: float | None = None
    while True:
        started = time.monotonic()
        try:
            return await handle.result()
        except RPCError as error:
            if not is_lost(error):
                raise
        now = time.monotonic()
        if now - started > MAX_OUTAGE_SECONDS:
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
    setups: tuple[RunningSetup, ...] = ()


async def read_parts(client: Client, server: ServerTarget, run_id: str) -> RunParts:
    """Return the failures that block a run, its answers that are arriving, and the set-ups that run.

    Raises:
        RPCError: the server does not answer.
    """
    members = [member async for member in describe_run_tree(client, run_id)]
    return RunParts(
        await find_pending_failures(client, server, members),
        await read_streamed_answers(client, members),
        await read_running_setups(client, members),
    )
