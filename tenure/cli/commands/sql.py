"""Command `sql`: run a SELECT statement over tables and print the rows."""

import asyncio
from argparse import Namespace
from uuid import uuid4

from rich.table import Table
from rich.text import Text

from tenure.cli.errors import CommandError, UsageError
from tenure.cli.formatting import format_count, truncate_bytes
from tenure.cli.paths import allow_reading, resolve_paths
from tenure.cli.run_ids import check_corpus, make_corpus_name
from tenure.cli.session.connection import SQL_WORKFLOW, explain_refusals, open_session
from tenure.cli.session.server_target import ServerTarget, ensure_server, print_notes
from tenure.cli.terminal import print_json, print_note, print_table
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.tables import Cell, QueryReply, SqlRequest
from tenure.settings import Settings
from workflows.runtime.task_queues import TENURE_QUEUE


def run_sql(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    request = build_request(arguments)
    place = ensure_server(settings)
    print_notes(place)
    allow_reading(settings, request.ingest)
    return asyncio.run(_run(arguments, place, request))


def build_request(arguments: Namespace) -> SqlRequest:
    """Build the request from the arguments.

    Raises:
        UsageError: no source is named, or a path does not exist.
    """
    named = [check_corpus(name) for name in arguments.corpus]
    ingest: list[IngestRequest] = []
    if arguments.docs:
        paths = resolve_paths(arguments.docs)
        ingest.append(
            IngestRequest(
                corpus=make_corpus_name(paths, include_secrets=arguments.include_secrets),
                paths=tuple(str(path) for path in paths),
                include_secrets=arguments.include_secrets,
            )
        )
    corpora = tuple(dict.fromkeys((*(one.corpus for one in ingest), *named)))
    databases = tuple(dict.fromkeys(arguments.database))
    if not corpora and not databases:
        raise UsageError("name the tables: --docs PATH, --corpus NAME or --database NAME")
    return SqlRequest(sql=arguments.sql.strip(), ingest=tuple(ingest), corpora=corpora, databases=databases)


async def _run(arguments: Namespace, place: ServerTarget, request: SqlRequest) -> int:
    client = await open_session(place)
    workflow_id = f"sql-{uuid4().hex[:8]}"
    with explain_refusals(workflow_id):
        reply: QueryReply = await client.execute_workflow(
            SQL_WORKFLOW,
            request,
            id=workflow_id,
            task_queue=TENURE_QUEUE,
            result_type=QueryReply,
            static_summary=truncate_bytes(request.sql),
        )
    if reply.problem:
        raise CommandError(reply.problem)
    if arguments.json:
        print_json(reply.model_dump(mode="json", include={"columns", "rows", "count", "truncated"}))
    else:
        _print(reply)
    return 0


def _print(reply: QueryReply) -> None:
    """Print the rows, numbers right-aligned and without markup."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for place, name in enumerate(reply.columns):
        numbers = all(isinstance(row[place], int | float | None) for row in reply.rows)
        table.add_column(Text(name), justify="right" if numbers else "left")
    for row in reply.rows:
        table.add_row(*(Text(_format_cell(cell)) for cell in row))
    print_table(table)
    if reply.truncated:
        print_note(f"only the first {format_count(reply.row_count, 'row')}: TENURE_SQL_ROWS sets the limit")


def _format_cell(cell: Cell) -> str:
    """Return a cell as text, with floats rounded to their significant digits."""
    return "" if cell is None else f"{cell:.12g}" if isinstance(cell, float) else str(cell)
