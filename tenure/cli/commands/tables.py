"""Command `table query`: run a SELECT statement over tables and print the rows."""

from collections.abc import Coroutine

from tenure.algorithms.text.counts import format_count
from tenure.cli.command import CommandHome
from tenure.cli.output import Output, print_rows
from tenure.cli.terminal import print_note
from tenure.contracts.evidence.tables import Cell, QueryReply, SqlRequest
from tenure.runs.messages import SqlBody
from tenure.runs.service import Service
from tenure.runs.tables import build_request, query_tables


def query(home: CommandHome, body: SqlBody, output: Output) -> Coroutine[None, None, None]:
    """Run the command."""
    request = build_request(body)
    return _query(home.open(), request, output)


async def _query(service: Service, request: SqlRequest, output: Output) -> None:
    reply = await query_tables(service, request)
    if not output.print_json(reply.model_dump(mode="json", include={"columns", "rows", "count", "truncated"})):
        _print(reply)


def _print(reply: QueryReply) -> None:
    """Print the rows, numbers right-aligned and without markup."""
    numbers = [
        name
        for column, name in enumerate(reply.columns)
        if all(isinstance(row[column], int | float | None) for row in reply.rows)
    ]
    print_rows(reply.columns, (tuple(map(_format_cell, row)) for row in reply.rows), numbers=numbers)
    if reply.truncated:
        print_note(f"only the first {format_count(reply.row_count, 'row')}: TENURE_SQL_ROWS sets the limit")


def _format_cell(cell: Cell) -> str:
    """Return a cell as text, with floats rounded to their significant digits."""
    return "" if cell is None else f"{cell:.12g}" if isinstance(cell, float) else str(cell)
