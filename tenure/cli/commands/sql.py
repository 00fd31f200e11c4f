"""`sql`: a person's own SELECT over tables, with the rows on the terminal."""

import asyncio
from argparse import Namespace
from uuid import uuid4

from rich.table import Table
from rich.text import Text

from tenure.cli.errors import CommandError, UsageError
from tenure.cli.formatting import counted, within_bytes
from tenure.cli.paths import existing
from tenure.cli.run_ids import check_corpus, corpus_of
from tenure.cli.session.connection import SQL_WORKFLOW, explained, open_session
from tenure.cli.session.server_target import Place, announce, ensure
from tenure.cli.terminal import print_json, print_table, say
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.tables import Cell, QueryReply, SqlRequest
from tenure.settings import Settings
from workflows.runtime.task_queues import TENURE_QUEUE


def sql(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    request = build_request(arguments)
    place = ensure(settings)
    announce(place)
    return asyncio.run(_run(arguments, place, request))


def build_request(arguments: Namespace) -> SqlRequest:
    """Turn the command line into a request.

    Raises:
        UsageError: nothing was named to read, or a path does not exist.
    """
    named = [check_corpus(name) for name in arguments.corpus]
    ingest: list[IngestRequest] = []
    if arguments.docs:
        paths = existing(arguments.docs)
        ingest.append(IngestRequest(corpus=corpus_of(paths), paths=tuple(str(path) for path in paths)))
    corpora = tuple(dict.fromkeys((*(one.corpus for one in ingest), *named)))
    databases = tuple(dict.fromkeys(arguments.database))
    if not corpora and not databases:
        raise UsageError("say where the tables are: --docs PATH, --corpus NAME or --database NAME")
    return SqlRequest(sql=arguments.sql.strip(), ingest=tuple(ingest), corpora=corpora, databases=databases)


async def _run(arguments: Namespace, place: Place, request: SqlRequest) -> int:
    client = await open_session(place)
    workflow_id = f"sql-{uuid4().hex[:8]}"
    with explained(workflow_id):
        reply: QueryReply = await client.execute_workflow(
            SQL_WORKFLOW,
            request,
            id=workflow_id,
            task_queue=TENURE_QUEUE,
            result_type=QueryReply,
            static_summary=within_bytes(request.sql),
        )
    if reply.problem:
        raise CommandError(reply.problem)
    if arguments.json:
        print_json(reply.model_dump(mode="json", include={"columns", "rows", "count", "truncated"}))
    else:
        _print(reply)
    return 0


def _print(reply: QueryReply) -> None:
    """Print the rows, numbers to the right; nothing in them is taken for markup."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for place, name in enumerate(reply.columns):
        numbers = all(isinstance(row[place], int | float | None) for row in reply.rows)
        table.add_column(Text(name), justify="right" if numbers else "left")
    for row in reply.rows:
        table.add_row(*(Text(_shown(cell)) for cell in row))
    print_table(table)
    if reply.truncated:
        say(f"only the first {counted(reply.count, 'row')}: TENURE_SQL_ROWS sets how many")


def _shown(cell: Cell) -> str:
    """Return a cell as text, without the noise in the last digits of a number."""
    return "" if cell is None else f"{cell:.12g}" if isinstance(cell, float) else str(cell)
