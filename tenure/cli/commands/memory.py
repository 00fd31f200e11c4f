"""Command `memory`: write, edit, list, search, forget and export memories."""

import asyncio
from argparse import Namespace
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import get_args
from uuid import uuid4

from rich.table import Table
from rich.text import Text
from temporalio.client import Client

from tenure.cli.errors import UsageError
from tenure.cli.formatting import format_count, truncate_line
from tenure.cli.session.connection import MEMORY_WORKFLOW, explain_refusals, open_session
from tenure.cli.session.server_target import ensure_server, print_notes
from tenure.cli.terminal import check_writable, print_json, print_json_lines, print_note, print_table, write_file
from tenure.contracts.knowledge.memory import (
    MAX_FACT_CHARS,
    MAX_MEMORY_CHARS,
    MAX_PREFERENCE_CHARS,
    MAX_PREFERENCES,
    PERMANENT_KINDS,
    FactDetails,
    ForgetReply,
    ForgetRequest,
    MemoriesReply,
    MemoriesRequest,
    Memory,
    MemoryReply,
    MemoryRequest,
    MemorySearchReply,
    MemorySearchRequest,
    WritableKind,
    WriteMemoryReply,
    WriteMemoryRequest,
)
from tenure.installation import PROGRAM
from tenure.settings import Settings
from workflows.runtime.task_queues import TENURE_QUEUE

ANSWER_TIMEOUT = timedelta(minutes=35)
"""Time for an answer, including the start of a worker; forgetting many memories takes long."""

_MAX_SHOWN = 20
_WIDTH = 100
_PAGE = 500


def memory(arguments: Namespace, settings: Settings) -> int:
    """Run `memory` with one of its actions."""
    _check_arguments(arguments)
    check_writable(arguments.output)
    place = ensure_server(settings)
    print_notes(place)

    async def run() -> int:
        return await _ACTIONS[arguments.action](arguments, await open_session(place))

    return asyncio.run(run())


def _check_arguments(arguments: Namespace) -> None:
    """Reject arguments that do not belong to the action, and missing ones.

    Raises:
        UsageError: an argument does not belong to it or is missing.
    """
    action, what = arguments.action, arguments.what
    if action in ("add", "edit"):
        _check_text(arguments)
    elif arguments.subject or arguments.relation or arguments.object:
        raise UsageError("--subject, --relation and --object belong to `memory add`")
    if action == "search" and len(what) != 1:
        raise UsageError('`memory search "TEXT"` wants one text to look for')
    if action in ("list", "export") and what:
        raise UsageError(f"`memory {action}` takes no {what[0]!r}: --kind and --owner choose among memories")
    chosen = arguments.run or arguments.source or arguments.all
    if chosen and action != "forget":
        raise UsageError("--run, --source and --all belong to `memory forget`")
    if arguments.limit is not None and action not in ("list", "search"):
        raise UsageError("--limit belongs to `memory list` and `memory search`")
    if arguments.output is not None and action != "export":
        raise UsageError("-o belongs to `memory export`")
    if action == "forget" and not (what or chosen or arguments.kind):
        raise UsageError("name the memories to forget: ids, --run ID, --source ID, --kind KIND or --all")


def _check_text(arguments: Namespace) -> None:
    """Reject arguments with which no memory can be written.

    Raises:
        UsageError: an argument is missing or does not fit.
    """
    action, what, kinds = arguments.action, arguments.what, arguments.kind
    if action == "add" and len(what) != 1:
        raise UsageError('`memory add "TEXT"` wants one text to remember')
    if action == "edit" and len(what) != 2:
        raise UsageError('`memory edit ID "TEXT"` wants the id of a memory and its new text')
    if len(what[-1]) > MAX_MEMORY_CHARS:
        raise UsageError(f"a memory has at most {MAX_MEMORY_CHARS:,} characters; this text has {len(what[-1]):,}")
    if action == "edit" and kinds:
        raise UsageError("an edited memory keeps its kind: forget it and add it with another --kind")
    if len(kinds) > 1:
        raise UsageError("a memory has one kind: name --kind once")
    if "episodic" in kinds:
        choices = ", ".join(get_args(WritableKind))
        raise UsageError(f"an episode is the record of a run and cannot be written: choose --kind from {choices}")
    _check_fact(arguments)


def _check_fact(arguments: Namespace) -> None:
    """Reject an incomplete fact.

    Raises:
        UsageError: a part of the fact is missing or too long, or the kind is not that of facts.
    """
    parts = {name: getattr(arguments, name) for name in ("subject", "relation", "object")}
    if not any(parts.values()):
        return
    if arguments.action == "edit":
        raise UsageError("--subject, --relation and --object belong to `memory add`")
    if missing := [f"--{name}" for name, value in parts.items() if not value]:
        raise UsageError(f"a fact has a subject, a relation and an object: {' and '.join(missing)} missing")
    if arguments.kind and arguments.kind != ["semantic"]:
        raise UsageError(f"a fact has --kind semantic, not {arguments.kind[0]}")
    for name, value in parts.items():
        if len(value) > MAX_FACT_CHARS:
            raise UsageError(f"--{name} has at most {MAX_FACT_CHARS} characters; this one has {len(value):,}")


async def run_memory_workflow(client: Client, request: MemoryRequest, action: str) -> MemoryReply:
    """Run the memory workflow where the knowledge base is.

    Raises:
        Unreachable: no worker answers.
        CommandError: it failed.
    """
    workflow_id = f"memory-{action}-{uuid4().hex[:8]}"
    with explain_refusals(workflow_id):
        reply: MemoryReply = await client.execute_workflow(
            MEMORY_WORKFLOW,
            request,
            id=workflow_id,
            task_queue=TENURE_QUEUE,
            result_type=MemoryReply,
            static_summary=f"{action} memories",
            execution_timeout=ANSWER_TIMEOUT,
        )
    return reply


async def _list(arguments: Namespace, client: Client) -> int:
    reply = await list_memories(arguments, client)
    if arguments.json:
        print_json(reply.model_dump(mode="json"))
        return 0
    if reply.memories:
        print_table(_build_table([(one, "") for one in reply.memories], ""))
    if reply.total > len(reply.memories) or not reply.total:
        print_note(f"{format_count(reply.total, 'memory', 'memories')} in all")
    return 0


async def list_memories(arguments: Namespace, client: Client) -> MemoriesReply:
    """Return the memories that the arguments ask for, and the number of all memories."""
    wanted = arguments.limit or _MAX_SHOWN
    listed: list[Memory] = []
    of = 0
    async for page in iterate_pages(arguments, client, min(wanted, _PAGE)):
        listed += page.memories
        of = page.total
        if len(listed) >= wanted:
            break
    return MemoriesReply(memories=tuple(listed[:wanted]), total=of)


async def iterate_pages(arguments: Namespace, client: Client, most: int) -> AsyncIterator[MemoriesReply]:
    """Yield the memories of an owner, page by page."""
    after = ""
    while True:
        request = MemoriesRequest(owner=arguments.owner, kinds=tuple(arguments.kind), after=after, limit=most)
        page = (await run_memory_workflow(client, MemoryRequest(page=request), "list")).page
        yield page
        if not page.memories:
            return
        after = page.memories[-1].id


async def _search(arguments: Namespace, client: Client) -> int:
    found = await search_memories(arguments, client)
    if arguments.json:
        print_json(found.model_dump(mode="json", exclude={"strategies"}))
    elif found.memories:
        print_table(_found(found))
    else:
        print_note(f"no memory matches {arguments.what[0]!r}")
    return 0


async def search_memories(arguments: Namespace, client: Client) -> MemorySearchReply:
    """Return the memories that match the text of the arguments, best first."""
    request = MemorySearchRequest(
        query=arguments.what[0],
        owner=arguments.owner,
        kinds=tuple(arguments.kind) or ("short_term", *PERMANENT_KINDS),
        limit=arguments.limit or _MAX_SHOWN,
        unrestricted=True,
        now=datetime.now(UTC),
    )
    return (await run_memory_workflow(client, MemoryRequest(search=request), "search")).found


async def _write(arguments: Namespace, client: Client) -> int:
    """Store a new memory, or the new text of a memory, and print it."""
    memory = await write_memory(arguments, client)
    if arguments.json:
        print_json(memory.model_dump(mode="json"))
    else:
        print_note(f"{'remembered' if arguments.action == 'add' else 'changed'} as {memory.kind}: {memory.id}")
    return 0


async def write_memory(arguments: Namespace, client: Client) -> Memory:
    """Store a new memory, or the new text of a memory.

    Raises:
        UsageError: it was not written.
    """
    is_new = arguments.action == "add"
    request = WriteMemoryRequest(
        text=arguments.what[-1].strip(),
        kind=arguments.kind[0] if arguments.kind else None,
        fact=FactDetails(subject=arguments.subject, predicate=arguments.relation, object=arguments.object)
        if arguments.subject
        else None,
        replaces="" if is_new else arguments.what[0],
        owner=arguments.owner,
        now=datetime.now(UTC),
    )
    written = (await run_memory_workflow(client, MemoryRequest(write=request), arguments.action)).written
    memory = written.memory
    if written.problem or memory is None:
        raise UsageError(_explain_problem(written, arguments))
    return memory


def _explain_problem(written: WriteMemoryReply, arguments: Namespace) -> str:
    """Return the reason for which a memory was not written, and what to do."""
    owner = f" --owner {arguments.owner}" if arguments.owner else ""
    known, problem = written.memory, written.problem
    if problem == "duplicate" and known:
        return (
            f"memory {known.id} ({known.kind}) has this text already: "
            f"`{PROGRAM} memory forget {known.id}{owner}` removes it"
        )
    if problem == "episode":
        return f"memory {arguments.what[0]} is the record of a run: it can be forgotten, but not edited"
    if problem == "too_many":
        return (
            f"an owner has at most {MAX_PREFERENCES} preferences: edit or forget one; "
            f"`{PROGRAM} memory list --kind preference{owner}` shows them"
        )
    if problem == "too_long":
        return f"a preference has at most {MAX_PREFERENCE_CHARS} characters; this text has {len(arguments.what[-1]):,}"
    return f"this owner has no memory {arguments.what[0]}: `{PROGRAM} memory list{owner}` shows them"


async def _forget(arguments: Namespace, client: Client) -> int:
    forgot = await forget_memories(arguments, client)
    if arguments.json:
        print_json(forgot.model_dump(mode="json"))
    else:
        print_note(f"{format_count(forgot.forgotten, 'memory', 'memories')} forgotten")
    return 0


async def forget_memories(arguments: Namespace, client: Client) -> ForgetReply:
    """Forget the memories that the arguments name.

    Raises:
        UsageError: the owner has no memory of these ids.
    """
    request = ForgetRequest(
        owner=arguments.owner,
        ids=tuple(arguments.what),
        run=arguments.run or "",
        source=arguments.source or "",
        kinds=tuple(arguments.kind),
        all_memories=arguments.all,
    )
    forgot = (await run_memory_workflow(client, MemoryRequest(forget=request), "forget")).forgotten
    if not forgot.forgotten and request.ids:
        raise UsageError(f"this owner has no such memory: `{PROGRAM} memory list` shows them")
    return forgot


async def _export(arguments: Namespace, client: Client) -> int:
    """Write one line of JSON per memory, or one document with --json."""
    memories = [one async for page in iterate_pages(arguments, client, _PAGE) for one in page.memories]
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


_ACTIONS = {"add": _write, "edit": _write, "list": _list, "search": _search, "forget": _forget, "export": _export}


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
        table.add_row(one.id, one.kind, *figures, Text(truncate_line(one.text, _WIDTH) + describe_status(one)))
    return table


def describe_status(one: Memory) -> str:
    """Return the reason for which a memory is not recalled or counts less, or an empty string."""
    return " (waits for a second source)" if one.unconfirmed else " (disputed)" if one.contradicted_by else ""
