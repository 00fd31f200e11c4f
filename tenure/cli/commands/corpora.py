"""Commands `ingest`, `corpus` and `search`: ingest documents into the knowledge base, manage and search corpora."""

import asyncio
from argparse import Namespace
from datetime import timedelta
from typing import Literal
from uuid import uuid4

from rich.table import Table
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import WorkflowAlreadyStartedError

from tenure.cli.commands import corpus_graph as relations
from tenure.cli.commands import watched_corpora as watching
from tenure.cli.errors import CommandError, UsageError
from tenure.cli.filter_conditions import parse_filters
from tenure.cli.formatting import format_count, truncate_bytes
from tenure.cli.paths import allow_reading, end_reading, resolve_paths
from tenure.cli.progress.display import choose_display
from tenure.cli.run_ids import check_corpus, make_corpus_name
from tenure.cli.session.connection import CORPUS_WORKFLOW, INGEST_WORKFLOW, explain_refusals, open_session
from tenure.cli.session.follow import follow_workflow
from tenure.cli.session.server_target import ServerTarget, ensure_server, print_notes
from tenure.cli.terminal import make_stderr_console, print_json, print_line, print_note, print_table
from tenure.contracts.evidence.corpora import (
    CorpusReply,
    CorpusRequest,
    CorpusStats,
    IngestReport,
    IngestRequest,
    StoredPassage,
    StoreStats,
)
from tenure.contracts.evidence.passages import DEFAULT_SEARCH_MODE, SearchRequest
from tenure.installation import PROGRAM
from tenure.settings import Settings
from workflows.runtime.task_queues import TENURE_QUEUE

ANSWER_TIMEOUT = timedelta(seconds=120)
"""Time for an answer about corpora, including the start of a worker."""

NOTHING_FOUND = 3
"""Exit code of a search without a result."""

_MAX_SKIPS_SHOWN = 10
_ACTIONS = {
    "relate": relations.relate,
    "graph": relations.show_graph,
    "watched": watching.list_watched,
    "unwatch": watching.unwatch_corpus,
}
_OF_ONE = ("drop", "relate", "graph", "unwatch")


def ingest(arguments: Namespace, settings: Settings) -> int:
    """Run `ingest`."""
    request = build_ingestion(arguments, settings)
    every = watching.parse_interval(arguments.every)
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    allow_reading(settings, [request])
    return asyncio.run(_ingest_and_report(arguments, place, request, every))


def build_ingestion(arguments: Namespace, settings: Settings) -> IngestRequest:
    """Build the request of an ingestion from the arguments.

    Raises:
        UsageError: a path does not exist, or the name of the corpus is invalid.
    """
    paths = resolve_paths(arguments.paths)
    secrets = arguments.include_secrets
    named = arguments.corpus or make_corpus_name(paths, include_secrets=secrets)
    corpus = check_corpus(named)
    return IngestRequest(corpus=corpus, paths=tuple(str(path) for path in paths), include_secrets=secrets)


def corpus(arguments: Namespace, settings: Settings) -> int:
    """Run `corpus` with one of its actions."""
    if arguments.name is not None:
        check_corpus(arguments.name, made=True)
    elif arguments.action in _OF_ONE:
        raise UsageError(f"name the corpus to {arguments.action}: `{PROGRAM} corpus list` shows them")
    _check_arguments(arguments)
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    return asyncio.run(_ACTIONS.get(arguments.action, _corpus)(arguments, place))


def search(arguments: Namespace, settings: Settings) -> int:
    """Run `search`."""
    if not arguments.query.strip():
        raise UsageError("give the words to search for")
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    return asyncio.run(_search_and_print(arguments, place))


async def _search_and_print(arguments: Namespace, place: ServerTarget) -> int:
    found = await search_passages(arguments, place.settings, await open_session(place))
    if arguments.json:
        print_json([passage.model_dump(mode="json") for passage in found])
    for number, passage in enumerate(() if arguments.json else found, 1):
        print_line(f"[{number}] {passage.title}, {passage.uri}\n{passage.text}\n")
    if not found:
        print_note("no passage was found")
    return 0 if found else NOTHING_FOUND


async def search_passages(arguments: Namespace, settings: Settings, client: Client) -> tuple[StoredPassage, ...]:
    """Return the passages that match a query, best first; without corpora in the arguments, of all of them.

    Raises:
        CommandError: the search failed, or a corpus does not exist.
    """
    named = tuple(dict.fromkeys(check_corpus(name, made=True) for name in arguments.corpus))
    corpora = named or tuple(one.corpus for one in (await ask_corpora(client, "list")).corpora)
    if not corpora:
        return ()
    request = SearchRequest(
        query=arguments.query.strip(),
        corpora=corpora,
        k=arguments.limit,
        mode=arguments.search_mode or settings.search_mode or DEFAULT_SEARCH_MODE,
        filters=parse_filters(arguments.filter),
    )
    return (await run_corpus_workflow(client, CorpusRequest(action="search", search=request))).passages


def _check_arguments(arguments: Namespace) -> None:
    """Reject arguments that do not belong to the action.

    Raises:
        UsageError: an argument does not belong to it.
    """
    if (arguments.action == "graph") != (arguments.entity is not None):
        raise UsageError('`corpus graph NAME ENTITY` looks up an entity, such as `corpus graph drafts "hybrid search"`')
    if arguments.most is not None and arguments.action != "graph":
        raise UsageError("--most belongs to `corpus graph`")
    budget = (arguments.max_tokens, arguments.max_cost_usd, arguments.max_calls)
    if any(limit is not None for limit in budget) and arguments.action != "relate":
        raise UsageError("--max-tokens, --max-cost and --max-calls belong to `corpus relate`")


async def ask_corpora(client: Client, action: Literal["list", "stats", "drop"], name: str | None = None) -> CorpusReply:
    """List corpora, return statistics, or drop a corpus.

    Raises:
        Unreachable: no worker answers.
        CommandError: it failed.
    """
    return await run_corpus_workflow(client, CorpusRequest(action=action, corpus=name))


async def run_corpus_workflow(client: Client, request: CorpusRequest) -> CorpusReply:
    """Run the workflow of corpora where the knowledge base is.

    Raises:
        Unreachable: no worker answers.
        CommandError: it failed.
    """
    action = request.action
    subject = "passages" if action in ("read", "search") else request.corpus or "all corpora"
    with explain_refusals(f"corpus {action}"):
        reply: CorpusReply = await client.execute_workflow(
            CORPUS_WORKFLOW,
            request,
            id=f"corpus-{action}-{uuid4().hex[:8]}",
            task_queue=TENURE_QUEUE,
            result_type=CorpusReply,
            static_summary=f"{action} {subject}",
            execution_timeout=ANSWER_TIMEOUT,
        )
    return reply


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


def make_ingestion_id(corpus: str) -> str:
    """Return the workflow id of the ingestion of a corpus."""
    return f"ingest-{corpus}"


async def start_ingestion(client: Client, request: IngestRequest) -> WorkflowHandle[object, IngestReport]:
    """Start an ingestion.

    Raises:
        CommandError: the corpus is being ingested.
    """
    workflow_id = make_ingestion_id(request.corpus)
    try:
        with explain_refusals(workflow_id):
            return await client.start_workflow(
                INGEST_WORKFLOW,
                request,
                id=workflow_id,
                task_queue=TENURE_QUEUE,
                result_type=IngestReport,
                static_summary=truncate_bytes(f"{request.corpus}: {', '.join(request.paths)}"),
            )
    except WorkflowAlreadyStartedError as error:
        raise CommandError(f"corpus {request.corpus} is being ingested: try again when that is finished") from error


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
        raise UsageError(f"there is no corpus {arguments.name!r}: `{PROGRAM} corpus list` shows them")
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
