"""Command `sql`: run a SELECT statement over tables and print the rows."""

import asyncio
from argparse import Namespace

from rich.table import Table
from rich.text import Text

from tenure.cli.requests import parse_request
from tenure.cli.terminal import print_json, print_note, print_notes, print_table
from tenure.contracts.evidence.tables import Cell, QueryReply, SqlRequest
from tenure.runs.formatting import format_count
from tenure.runs.messages import SqlBody
from tenure.runs.session.connection import open_session
from tenure.runs.session.server_target import ServerTarget, ensure_server
from tenure.runs.tables import build_request, query_tables
from tenure.settings import Settings


def run_sql(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    request = build_request(parse_request(SqlBody, arguments))
    place = ensure_server(settings)
    print_notes(place)
    return asyncio.run(_run(arguments, place, request))


async def _run(arguments: Namespace, place: ServerTarget, request: SqlRequest) -> int:
    reply = await query_tables(request, place.settings, await open_session(place))
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
