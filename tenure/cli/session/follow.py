"""Following a workflow to its end, through restarts of its worker and of the server."""

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.service import RPCError

from tenure.cli.display import Display, Trouble, Writing
from tenure.cli.errors import CommandError, Detached, Unreachable
from tenure.cli.formatting import failure
from tenure.cli.session.connection import refusal
from tenure.cli.session.diagnostics import troubles
from tenure.cli.session.monitor import is_lost, is_starting, look, what_died, who_is_missing
from tenure.cli.session.run_tree import family
from tenure.cli.session.server_target import Place
from tenure.cli.streaming import writings

T = TypeVar("T")

LOOK_SECONDS = 0.5
"""Pause between two looks."""

FAMILY_SECONDS = 1.0
"""Pause between two looks at the parts of a run: what they write, and what keeps them from getting on."""

WORKER_GRACE_SECONDS = 20.0
"""How long a run may stand before a worker is missed; one needs some seconds to start."""

START_GRACE_SECONDS = 90.0
"""The same for a worker whose process lives: on a busy machine its libraries take long to load."""

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


async def follow_telling(
    client: Client, place: Place, handle: WorkflowHandle[Any, T], display: Display, telling: Coroutine[Any, Any, None]
) -> T:
    """Follow a workflow that answers no `progress`, while `telling` says again and again how far it is.

    Raises:
        CommandError: as `follow` does.
    """
    told = asyncio.create_task(telling)
    try:
        return await follow(client, place, handle, display, query=False)
    finally:
        told.cancel()
        await asyncio.gather(told, return_exceptions=True)


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


@dataclass(frozen=True)
class _Parts:
    """What the workflows of a run are at."""

    troubles: tuple[Trouble, ...] = ()
    writings: tuple[Writing, ...] = ()


async def _parts(client: Client, place: Place, run_id: str) -> _Parts:
    members = [member async for member in family(client, run_id)]
    return _Parts(await troubles(client, place, members), await writings(client, members))


async def _watch(
    client: Client, place: Place, handle: WorkflowHandle[Any, Any], display: Display, *, query: bool
) -> None:
    """Show progress again and again; say once when nobody works on the run."""
    began, complaint = time.monotonic(), ""
    looked = began
    parts = _Parts()
    while True:
        try:
            if time.monotonic() - looked >= FAMILY_SECONDS:
                looked, parts = time.monotonic(), await _parts(client, place, handle.id)
            snapshot = replace(
                await look(client, handle, query=query), troubles=parts.troubles, writings=parts.writings
            )
            found = "" if snapshot.progress else what_died(place)
            if snapshot.progress is None and not found:
                snapshot = replace(snapshot, starting=await is_starting(client, place))
                grace = START_GRACE_SECONDS if snapshot.starting else WORKER_GRACE_SECONDS
                if time.monotonic() - began > grace:
                    found = await who_is_missing(client)
            display.show(snapshot)
            if found and found != complaint:
                display.say(found)
            complaint = found
        except RPCError as error:
            if not is_lost(error):
                raise
        await asyncio.sleep(LOOK_SECONDS)
