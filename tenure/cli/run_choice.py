"""Find the run that a person means by the beginning of its id or by `last`, and list ids for a shell's completion."""

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress

from tenure.cli.command_parser import find_nearest
from tenure.runs.errors import InvalidRequest, MissingRun, TenureError
from tenure.runs.messages import RunFilter
from tenure.runs.service import Service
from tenure.runs.session.server_target import locate_server
from tenure.settings import Settings

MAX_RUNS = 1000
"""Latest runs that are compared."""

LAST = "last"
"""Word for the run that was started last."""

MAX_SHOWN = 5
"""Ids of an error about an ambiguous beginning."""

COMPLETION_TIMEOUT_SECONDS = 5.0
"""Time that a person at a shell waits for a list of names."""


def choose_run(error: MissingRun) -> str:
    """Return the id that a person means by one that no run has.

    Raises:
        MissingRun: no id begins with it; the error names the most similar one.
        InvalidRequest: several ids begin with it.
    """
    ids = asyncio.run(_list_ids())
    return pick_run(error.run_id, ids)


def pick_run(word: str, ids: Sequence[str]) -> str:
    """Return the id that a word means: the first for `last`, else the only one that begins with it.

    Raises:
        MissingRun: no id begins with it; the error names the most similar one.
        InvalidRequest: several ids begin with it.
    """
    if word == LAST and ids:
        return ids[0]
    matching = sorted({run_id for run_id in ids if run_id.startswith(word)})
    if len(matching) > 1:
        more = f" and {len(matching) - MAX_SHOWN} more" if len(matching) > MAX_SHOWN else ""
        raise InvalidRequest(f"several runs begin with {word}: {', '.join(matching[:MAX_SHOWN])}{more}")
    if not matching:
        raise MissingRun(word, find_nearest(word, ids))
    return matching[0]


def complete_run(prefix: str, **_: object) -> list[str]:
    """Return the ids that a shell offers for the beginning of one."""
    return [LAST, *asyncio.run(_wait_shortly(_list_ids()))]


def complete_corpus(prefix: str, **_: object) -> list[str]:
    """Return the names of corpora that a shell offers."""

    async def list_names() -> list[str]:
        listed = await Service(locate_server(Settings())).list_corpora()
        return [entry.corpus for entry in listed.corpora]

    return asyncio.run(_wait_shortly(list_names()))


async def _wait_shortly(listing: Coroutine[None, None, list[str]]) -> list[str]:
    """Return a list, or an empty one without an answer in time: a shell shows no errors."""
    with suppress(TenureError, TimeoutError):
        return await asyncio.wait_for(listing, COMPLETION_TIMEOUT_SECONDS)
    return []


async def _list_ids() -> list[str]:
    """Return the ids of the latest runs of the server and of the archive, as far as they answer, the latest first."""
    # The list completes a word, or an error that is reported in any case.
    with suppress(TenureError):
        listed = await Service(locate_server(Settings())).list_runs(RunFilter(limit=MAX_RUNS))
        return [row.id for row in sorted(listed.runs, key=lambda row: row.started, reverse=True)]
    return []
