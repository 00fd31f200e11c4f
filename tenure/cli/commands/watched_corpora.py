"""Commands for watched corpora: `ingest --every`, `corpus watched` and `corpus unwatch`."""

from argparse import Namespace
from datetime import timedelta

from rich.table import Table
from temporalio.client import Client
from temporalio.service import RPCError

from tenure.cli.terminal import print_json, print_note, print_table
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest
from tenure.runs.formatting import truncate_line
from tenure.runs.session.connection import explain_refusals, open_session
from tenure.runs.session.server_target import ServerTarget
from tenure.temporal import schedules

_MIN_SECONDS = 60.0
"""Minimum interval between two readings."""


def parse_interval(seconds: float | None) -> timedelta | None:
    """Return the interval between readings, or None if the corpus is read once.

    Raises:
        InvalidRequest: the interval is too short.
    """
    if seconds is not None and seconds < _MIN_SECONDS:
        raise InvalidRequest("--every must be at least 1m: even an unchanged folder is scanned each time")
    return None if seconds is None else timedelta(seconds=seconds)


async def watch_corpus(client: Client, request: IngestRequest, every: timedelta) -> None:
    """Schedule the reading of a corpus and print a note."""
    with explain_refusals(f"watch-{request.corpus}"):
        await schedules.watch_corpus(client, request, every)
    print_note(f"re-read every {_format_duration(every)}; `{PROGRAM} corpus unwatch {request.corpus}` stops it")


async def list_watched(arguments: Namespace, place: ServerTarget) -> int:
    """Run `corpus watched`."""
    client = await open_session(place)
    with explain_refusals("corpus watched"):
        found = sorted([one async for one in schedules.list_watched_corpora(client)], key=lambda one: one.corpus)
    if arguments.json:
        print_json({"watched": [_as_json(one) for one in found]})
    else:
        print_table(_build_table(found))
    return 0


async def unwatch_corpus(arguments: Namespace, place: ServerTarget) -> int:
    """Run `corpus unwatch`."""
    client = await open_session(place)
    with explain_refusals(f"watch-{arguments.name}"):
        ended = await schedules.unwatch_corpus(client, arguments.name)
    if not ended:
        raise InvalidRequest(
            f"corpus {arguments.name!r} is not watched: `{PROGRAM} corpus watched` lists the watched ones"
        )
    if arguments.json:
        print_json({"unwatched": arguments.name})
    else:
        print_note(f"corpus {arguments.name} is no longer watched")
    return 0


async def end_watching(client: Client, corpus: str) -> None:
    """Delete the schedule of a corpus that is dropped, since it would create the corpus again."""
    try:
        if await schedules.unwatch_corpus(client, corpus):
            print_note(f"corpus {corpus} is no longer watched")
    except RPCError as error:
        print_note(f"cannot find out whether {corpus} is watched: {truncate_line(error.message, 150)}")


def _as_json(one: schedules.WatchedCorpus) -> dict[str, object]:
    return {
        "corpus": one.corpus,
        "every_seconds": one.every.total_seconds(),
        "paths": list(one.paths),
        "paused": one.paused,
        "last": one.last.isoformat() if one.last else None,
    }


def _build_table(found: list[schedules.WatchedCorpus]) -> Table:
    """Return watched corpora as a table."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in ("corpus", "every", "last", "paths"):
        table.add_column(heading)
    for one in found:
        last = one.last.isoformat()[:19] if one.last else "not yet"
        every = _format_duration(one.every) + (", paused" if one.paused else "")
        table.add_row(one.corpus, every, last, ", ".join(one.paths))
    return table


def _format_duration(every: timedelta) -> str:
    """Return a duration as it is written on the command line."""
    seconds = every.total_seconds()
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"
