"""Command `memory`: write, edit, list, search, forget and export memories."""

import asyncio
from argparse import Namespace
from collections.abc import Awaitable, Callable
from typing import Any

from rich.table import Table
from rich.text import Text
from temporalio.client import Client

from tenure.cli.requests import parse_request
from tenure.cli.terminal import (
    check_writable,
    print_json,
    print_json_lines,
    print_note,
    print_notes,
    print_table,
    write_file,
)
from tenure.contracts.knowledge.memory import (
    Memory,
    MemorySearchReply,
)
from tenure.runs.errors import InvalidRequest
from tenure.runs.formatting import format_count, truncate_line
from tenure.runs.memories import (
    describe_status,
    forget_memories,
    iterate_pages,
    list_memories,
    search_memories,
    write_memory,
)
from tenure.runs.messages import ForgetBody, MemoryFilter, OperationRequest, RememberBody
from tenure.runs.session.connection import open_session
from tenure.runs.session.server_target import ensure_server
from tenure.settings import Settings

_WIDTH = 100


def memory(arguments: Namespace, settings: Settings) -> int:
    """Run `memory` with one of its actions."""
    request = build_request(arguments)
    check_writable(arguments.output)
    place = ensure_server(settings)
    print_notes(place)

    async def run() -> int:
        return await _ACTIONS[arguments.action](arguments, request, await open_session(place))

    return asyncio.run(run())


def _check_arguments(arguments: Namespace) -> None:
    """Reject arguments that do not belong to the action, and missing ones.

    Raises:
        InvalidRequest: an argument does not belong to it or is missing.
    """
    action, what = arguments.action, arguments.what
    if action == "add" and len(what) != 1:
        raise InvalidRequest('`memory add "TEXT"` wants one text to remember')
    if action == "edit" and len(what) != 2:
        raise InvalidRequest('`memory edit ID "TEXT"` wants the id of a memory and its new text')
    if action in ("add", "edit") and len(arguments.kinds) > 1:
        raise InvalidRequest("a memory has one kind: name it once", "kind")
    if action != "add" and (arguments.subject or arguments.relation or arguments.object):
        raise InvalidRequest("--subject, --relation and --object belong to `memory add`")
    if action == "search" and len(what) != 1:
        raise InvalidRequest('`memory search "TEXT"` wants one text to look for')
    if action in ("list", "export") and what:
        raise InvalidRequest(f"`memory {action}` takes no {what[0]!r}: --kind and --owner choose among memories")
    chosen = arguments.run or arguments.source or arguments.all_memories
    if chosen and action != "forget":
        raise InvalidRequest("--run, --source and --all belong to `memory forget`")
    if arguments.limit is not None and action not in ("list", "search"):
        raise InvalidRequest("--limit belongs to `memory list` and `memory search`")
    if arguments.output is not None and action != "export":
        raise InvalidRequest("-o belongs to `memory export`")


def build_request(arguments: Namespace) -> OperationRequest:
    """Return the request of the action.

    Raises:
        InvalidRequest: a value does not fit.
    """
    _check_arguments(arguments)
    action, what, kinds = arguments.action, arguments.what, arguments.kinds
    if action in ("add", "edit"):
        kind, replaces = next(iter(kinds), None), what[0] if action == "edit" else None
        return parse_request(RememberBody, arguments, {"text": what[-1], "kind": kind, "replaces": replaces})
    if action == "forget":
        return parse_request(ForgetBody, arguments, {"ids": what})
    return parse_request(MemoryFilter, arguments, {"words": what[0] if what else ""})


async def _list(arguments: Namespace, chosen: MemoryFilter, client: Client) -> int:
    reply = await list_memories(chosen, client)
    if arguments.json:
        print_json(reply.model_dump(mode="json"))
        return 0
    if reply.memories:
        print_table(_build_table([(one, "") for one in reply.memories], ""))
    if reply.total > len(reply.memories) or not reply.total:
        print_note(f"{format_count(reply.total, 'memory', 'memories')} in all")
    return 0


async def _search(arguments: Namespace, chosen: MemoryFilter, client: Client) -> int:
    found = await search_memories(chosen, client)
    if arguments.json:
        print_json(found.model_dump(mode="json", exclude={"strategies"}))
    elif found.memories:
        print_table(_found(found))
    else:
        print_note(f"no memory matches {arguments.what[0]!r}")
    return 0


async def _write(arguments: Namespace, body: RememberBody, client: Client) -> int:
    """Store a new memory, or the new text of a memory, and print it."""
    memory = await write_memory(body, client)
    if arguments.json:
        print_json(memory.model_dump(mode="json"))
    else:
        print_note(f"{'remembered' if arguments.action == 'add' else 'changed'} as {memory.kind}: {memory.id}")
    return 0


async def _forget(arguments: Namespace, body: ForgetBody, client: Client) -> int:
    forgot = await forget_memories(body, client)
    if arguments.json:
        print_json(forgot.model_dump(mode="json"))
    else:
        print_note(f"{format_count(forgot.forgotten, 'memory', 'memories')} forgotten")
    return 0


async def _export(arguments: Namespace, chosen: MemoryFilter, client: Client) -> int:
    """Write one line of JSON per memory, or one document with --json."""
    memories = [one async for page in iterate_pages(chosen, client) for one in page.memories]
    if arguments.json and arguments.output is None:
        print_json([one.model_dump(mode="json") for one in memories])
        return 0
    lines = "".join(f"{one.model_dump_json()}\n" for one in memories)
    if arguments.output is None:
        print_json_lines(lines)
        return 0
    write_file(arguments.output, lines.encode())
    if arguments.json:
        print_json({"file": str(arguments.output), "memories": len(memories)})
    else:
        print_note(f"{format_count(len(memories), 'memory', 'memories')} written to {arguments.output}")
    return 0


_ACTIONS: dict[str, Callable[[Namespace, Any, Client], Awaitable[int]]] = {
    "add": _write,
    "edit": _write,
    "list": _list,
    "search": _search,
    "forget": _forget,
    "export": _export,
}


def _found(found: MemorySearchReply) -> Table:
    return _build_table([(one.memory, f"{one.score:.2f}") for one in found.memories], "score")


def _build_table(rows: list[tuple[Memory, str]], heading: str) -> Table:
    """Return memories as a table, one line each."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for name in ("id", "kind", "since", "uses", "sure", *([heading] if heading else []), "memory"):
        table.add_column(name, justify="right" if name in ("uses", "sure", heading) else "left")
    for one, score in rows:
        figures = (
            f"{one.created_at:%Y-%m-%d}",
            f"{one.use_count:,}",
            f"{one.confidence:.0%}",
            *([score] if heading else []),
        )
        table.add_row(one.id, one.kind, *figures, Text(truncate_line(one.text, _WIDTH) + _describe_status(one)))
    return table


def _describe_status(one: Memory) -> str:
    status = describe_status(one)
    return f" ({status})" if status else ""
