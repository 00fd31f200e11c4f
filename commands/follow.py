"""Following a workflow to its end, through restarts of its worker and of the server."""

import asyncio
import time
from dataclasses import replace
from typing import Any, TypeVar

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.service import RPCError

from commands.display import Display, Trouble
from commands.errors import CommandError, Detached, Unreachable
from commands.monitor import is_lost, look, what_died, who_is_missing
from commands.place import Place
from commands.session import refusal
from commands.stuck import troubles
from commands.texts import failure

T = TypeVar("T")

LOOK_SECONDS = 0.5
"""Pause between two looks."""

TROUBLE_SECONDS = 3.0
"""Pause between two looks for what keeps a run from getting on."""

WORKER_GRACE_SECONDS = 20.0
"""How long a run may stand before a worker is missed; one needs some seconds to start."""

LOST_SECONDS = 60.0
"""How long the server may be away before following is given up; the run itself is safe."""


async def follow(
    client: Client, place: Place, handle: WorkflowHandle[Any, T], display: Display, *, query: bool = True
) -> T:
    """Show a workflow's progress until it ends, and return its result.

    Args:
        client: connection to the server.
        place: where the server is.
        handle: the workflow, with the type of its result.
        display: where progress goes.
        query: whether the workflow answers `progress`.

    Raises:
        CommandError: it failed.
        Unreachable: the server went away for too long.
        Detached: the person pressed Ctrl-C.
    """
    ending = asyncio.create_task(_end(handle, display))
    watching = asyncio.create_task(_watch(client, place, handle, display, query=query))
    try:
        done, _ = await asyncio.wait({ending, watching}, return_when=asyncio.FIRST_COMPLETED)
        # Watching ends by an error only; the result, where it came at the same moment, counts more.
        result = ending.result() if ending in done else await _raise_from(watching)
    except asyncio.CancelledError:
        raise Detached(handle.id) from None
    except WorkflowFailureError as error:
        raise CommandError(f"run {handle.id} failed: {failure(error)}") from error
    except RPCError as error:
        raise refusal(error, handle.id) from error
    finally:
        ending.cancel()
        watching.cancel()
        await asyncio.gather(ending, watching, return_exceptions=True)
    return result


async def _raise_from(watching: asyncio.Task[None]) -> Any:
    """Raise what ended the watching."""
    await watching
    raise AssertionError("watching ends by an error only")


async def _end(handle: WorkflowHandle[Any, T], display: Display) -> T:
    """Wait for the result, over absences of the server."""
    lost_since: float | None = None
    while True:
        asked = time.monotonic()
        try:
            return await handle.result()
        except RPCError as error:
            if not is_lost(error):
                raise
        now = time.monotonic()
        if now - asked > LOST_SECONDS:
            lost_since = None  # it answered in between: this is a new absence
        if lost_since is None:
            lost_since = now
            display.say(
                "the Temporal server does not answer; waiting for it (`python client.py up` starts a local one)"
            )
        if now - lost_since > LOST_SECONDS:
            raise Unreachable(
                f"the Temporal server stays away: run `python client.py up`, then `python client.py watch {handle.id}`"
            )
        await asyncio.sleep(1.0)


async def _watch(
    client: Client, place: Place, handle: WorkflowHandle[Any, Any], display: Display, *, query: bool
) -> None:
    """Show progress again and again; say once when nobody works on the run."""
    began, complaint = time.monotonic(), ""
    looked = began
    stuck: tuple[Trouble, ...] = ()
    while True:
        try:
            if time.monotonic() - looked >= TROUBLE_SECONDS:
                looked, stuck = time.monotonic(), await troubles(client, place, handle.id)
            snapshot = replace(await look(client, handle, query=query), troubles=stuck)
            display.show(snapshot)
            if snapshot.progress is None:
                found = what_died(place)
                if not found and time.monotonic() - began > WORKER_GRACE_SECONDS:
                    found = await who_is_missing(client)
                if found and found != complaint:
                    display.say(found)
                complaint = found
        except RPCError as error:
            if not is_lost(error):
                raise
        await asyncio.sleep(LOOK_SECONDS)
