"""Commands `ingest`, `corpus` and `search`: ingest documents into the knowledge base, manage and search corpora."""

import asyncio
from argparse import Namespace
from datetime import timedelta

from rich.table import Table

from tenure.cli.commands import corpus_graph as relations
from tenure.cli.commands import watched_corpora as watching
from tenure.cli.follow import follow_workflow
from tenure.cli.progress.display import choose_display
from tenure.cli.requests import parse_request
from tenure.cli.terminal import make_stderr_console, print_json, print_line, print_note, print_notes, print_table
from tenure.contracts.evidence.corpora import (
    CorpusStats,
    IngestReport,
    IngestRequest,
    StoreStats,
)
from tenure.installation import PROGRAM
from tenure.runs.corpora import ask_corpora, search_passages, start_ingestion
from tenure.runs.errors import InvalidRequest
from tenure.runs.formatting import format_count
from tenure.runs.messages import IngestBody, SearchBody
from tenure.runs.paths import allow_reading, end_reading, plan_ingestion
from tenure.runs.run_ids import check_corpus
from tenure.runs.session.connection import open_session
from tenure.runs.session.server_target import ServerTarget, ensure_server
from tenure.settings import Settings

NOTHING_FOUND = 3
"""Exit code of a search without a result."""

_MAX_SKIPS_SHOWN = 10
_ACTIONS = {
    "graph": relations.show_graph,
    "watched": watching.list_watched,
    "unwatch": watching.unwatch_corpus,
}
_OF_ONE = ("drop", "graph", "unwatch")


def ingest(arguments: Namespace, settings: Settings) -> int:
    """Run `ingest`."""
    body = parse_request(IngestBody, arguments)
    request = plan_ingestion(body.paths, body.corpus, include_secrets=body.include_secrets)
    every = watching.parse_interval(arguments.every)
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    allow_reading(settings, [request])
    return asyncio.run(_ingest_and_report(arguments, place, request, every))


def corpus(arguments: Namespace, settings: Settings) -> int:
    """Run `corpus` with one of its actions."""
    if arguments.name is not None:
        check_corpus(arguments.name, made=True)
    elif arguments.action in _OF_ONE:
        raise InvalidRequest(f"name the corpus to {arguments.action}: `{PROGRAM} corpus list` shows them")
    _check_arguments(arguments)
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    return asyncio.run(_ACTIONS.get(arguments.action, _corpus)(arguments, place))


def search(arguments: Namespace, settings: Settings) -> int:
    """Run `search`."""
    request = parse_request(SearchBody, arguments)
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    return asyncio.run(_search_and_print(arguments, request, place))


async def _search_and_print(arguments: Namespace, request: SearchBody, place: ServerTarget) -> int:
    found = await search_passages(request, place.settings, await open_session(place))
    if arguments.json:
        print_json([passage.model_dump(mode="json") for passage in found])
    for number, passage in enumerate(() if arguments.json else found, 1):
        print_line(f"[{number}] {passage.title}, {passage.uri}\n{passage.text}\n")
    if not found:
        print_note("no passage was found")
    return 0 if found else NOTHING_FOUND


def _check_arguments(arguments: Namespace) -> None:
    """Reject arguments that do not belong to the action.

    Raises:
        InvalidRequest: an argument does not belong to it.
    """
    if (arguments.action == "graph") != (arguments.entity is not None):
        raise InvalidRequest(
            '`corpus graph NAME ENTITY` looks up an entity, such as `corpus graph drafts "hybrid search"`'
        )
    if arguments.most is not None and arguments.action != "graph":
        raise InvalidRequest("--most belongs to `corpus graph`")


async def _ingest_and_report(
    arguments: Namespace, place: ServerTarget, request: IngestRequest, every: timedelta | None
) -> int:
    """Start the ingestion, follow it, print its report, and schedule it if requested."""
    client = await open_session(place)
    handle = await start_ingestion(client, request)
    with choose_display(make_stderr_console(), arguments.verbosity) as display:
        report = await follow_workflow(client, place, handle, display, query=False)
    if arguments.json:
        print_json(report.model_dump(mode="json"))
    else:
        _print_report(report)
    if every is not None:
        await watching.watch_corpus(client, request, every)
    return 0


async def _corpus(arguments: Namespace, place: ServerTarget) -> int:
    """Run the action and print the answer."""
    client = await open_session(place)
    if arguments.action == "drop":
        await watching.end_watching(client, arguments.name)
    reply = await ask_corpora(client, arguments.action, arguments.name)
    if reply.dropped:
        end_reading(place.settings, arguments.name)
    known = arguments.action == "list" or arguments.name is None
    if not known and not reply.corpora and not reply.dropped:
        raise InvalidRequest(f"there is no corpus {arguments.name!r}: `{PROGRAM} corpus list` shows them")
    if arguments.json:
        print_json(reply.model_dump(mode="json"))
    elif reply.dropped:
        print_note(f"corpus {arguments.name} dropped")
    else:
        print_table(_build_table(reply.corpora))
        if reply.store:
            _print_store(reply.store)
    return 0


def _print_report(report: IngestReport) -> None:
    """Print the report of an ingestion."""
    print_line(
        f"corpus {report.corpus}: {format_count(report.files, 'file')} ({report.added} new, {report.changed} changed, "
        f"{report.unchanged} unchanged, {report.removed} removed, {report.skipped_total} skipped), "
        f"{format_count(report.chunks, 'chunk')} written in {report.seconds:.1f} s"
    )
    for skip in report.skipped[:_MAX_SKIPS_SHOWN]:
        print_note(f"skipped {skip.path}: {skip.reason}")
    if report.skipped_total > _MAX_SKIPS_SHOWN:
        print_note(f"and {report.skipped_total - _MAX_SKIPS_SHOWN} more")


def _print_store(store: StoreStats) -> None:
    """Print the size and the usage of the whole knowledge base."""
    print_line()
    print_table(_build_statistics_table(store))
    for query in store.queries:
        print_line(f"{query.mode} searches: {query.count:,}, mean {query.mean_ms:.1f} ms, p95 {query.p95_ms:.1f} ms")
    if store.cache.rate is not None:
        asked = store.cache.hits + store.cache.misses
        print_line(f"embedding cache: {store.cache.hits:,} of {asked:,} vectors were known ({store.cache.rate:.0%})")


def _build_statistics_table(store: StoreStats) -> Table:
    """Return the tables of the knowledge base and their indexes as a table."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in ("table or index", "rows", "unindexed", "MB", "files", "versions"):
        table.add_column(heading, justify="left" if heading == "table or index" else "right")
    for one in store.tables:
        table.add_row(one.table, f"{one.rows:,}", "", f"{one.size / 1e6:,.1f}", f"{one.files:,}", f"{one.versions:,}")
        for index in one.indexes:
            size = f"{index.size / 1e6:,.1f}"
            table.add_row(f"  {index.name} ({index.family})", f"{index.rows:,}", f"{index.unindexed:,}", size, "", "")
    return table


def _build_table(corpora: tuple[CorpusStats, ...]) -> Table:
    """Return corpora as a table."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    numbers = ("documents", "chunks", "embedded", "characters")
    for heading in ("corpus", *numbers, "embedding model", "updated"):
        table.add_column(heading, justify="right" if heading in numbers else "left")
    for one in corpora:
        figures = (f"{one.sources:,}", f"{one.chunks:,}", f"{one.embedded_share:.0%}", f"{one.characters:,}")
        table.add_row(one.corpus, *figures, one.embedding_model, one.updated_at[:19])
    return table
