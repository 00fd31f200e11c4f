"""Watched corpora: `ingest --every`, `corpus watched` and `corpus unwatch`."""

from argparse import Namespace
from datetime import timedelta

from rich.table import Table
from temporalio.client import Client
from temporalio.service import RPCError

from tenure.cli.errors import UsageError
from tenure.cli.formatting import one_line
from tenure.cli.session.connection import explained, open_session
from tenure.cli.session.server_target import Place
from tenure.cli.terminal import print_json, print_table, say
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.temporal import schedules

_LEAST = 60.0
"""Seconds between two readings at the least."""


def interval(seconds: float | None) -> timedelta | None:
    """Return how often a corpus is to be read; None for once.

    Raises:
        UsageError: it is too often.
    """
    if seconds is not None and seconds < _LEAST:
        raise UsageError(
            "--every must be at least 1m: a folder of which nothing has changed is looked through each time"
        )
    return None if seconds is None else timedelta(seconds=seconds)


async def begin(client: Client, request: IngestRequest, every: timedelta) -> None:
    """Have a corpus read anew from time to time, and say so."""
    with explained(f"watch-{request.corpus}"):
        await schedules.watch(client, request, every)
    say(f"read anew every {_spoken(every)}; `python client.py corpus unwatch {request.corpus}` ends that")


async def watched(arguments: Namespace, place: Place) -> int:
    """Run `corpus watched`."""
    client = await open_session(place)
    with explained("corpus watched"):
        found = sorted([one async for one in schedules.watched(client)], key=lambda one: one.corpus)
    if arguments.json:
        print_json({"watched": [_document(one) for one in found]})
    else:
        print_table(_table(found))
    return 0


async def unwatch(arguments: Namespace, place: Place) -> int:
    """Run `corpus unwatch`."""
    client = await open_session(place)
    with explained(f"watch-{arguments.name}"):
        ended = await schedules.unwatch(client, arguments.name)
    if not ended:
        raise UsageError(
            f"corpus {arguments.name!r} is not watched: `python client.py corpus watched` shows those that are"
        )
    if arguments.json:
        print_json({"unwatched": arguments.name})
    else:
        say(f"corpus {arguments.name} is no longer watched")
    return 0


async def end(client: Client, corpus: str) -> None:
    """End the watching of a corpus that is dropped, which would bring it back."""
    try:
        if await schedules.unwatch(client, corpus):
            say(f"corpus {corpus} is no longer watched")
    except RPCError as error:
        say(f"whether {corpus} is watched is not known: {one_line(error.message, 150)}")


def _document(one: schedules.Watched) -> dict[str, object]:
    return {
        "corpus": one.corpus,
        "every_seconds": one.every.total_seconds(),
        "paths": list(one.paths),
        "paused": one.paused,
        "last": one.last.isoformat() if one.last else None,
    }


def _table(found: list[schedules.Watched]) -> Table:
    """Set watched corpora as a table."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in ("corpus", "every", "last", "paths"):
        table.add_column(heading)
    for one in found:
        last = one.last.isoformat()[:19] if one.last else "not yet"
        every = _spoken(one.every) + (", paused" if one.paused else "")
        table.add_row(one.corpus, every, last, ", ".join(one.paths))
    return table


def _spoken(every: timedelta) -> str:
    """Return a length of time as it is written on the command line."""
    seconds = every.total_seconds()
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"
