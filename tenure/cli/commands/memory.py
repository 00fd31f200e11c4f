"""Commands of the group `memory`: write, edit, list, search, forget and export memories."""

from collections.abc import Iterable

from tenure.algorithms.text.counts import format_count
from tenure.cli.output import Output, print_rows
from tenure.cli.terminal import WritablePath, print_json_lines, write_file
from tenure.contracts.knowledge.memory import Memory
from tenure.runs.formatting import truncate_line
from tenure.runs.memories import describe_status, iterate_pages, list_memories, search_memories, write_memory
from tenure.runs.messages import ForgetBody, MemoryFilter, RememberBody
from tenure.runs.service import Service

_WIDTH = 100


async def add(service: Service, body: RememberBody, output: Output) -> None:
    """Store a new memory, or the new text of a memory, and print it."""
    memory = await write_memory(service, body)
    output.print_note(memory, f"{'changed' if body.replaces else 'remembered'} as {memory.kind}: {memory.id}")


async def show(service: Service, chosen: MemoryFilter, output: Output) -> None:
    """Print the latest memories."""
    reply = await list_memories(service, chosen)
    if output.print_json(reply):
        return
    if reply.memories:
        _print((memory, "") for memory in reply.memories)
    if reply.total > len(reply.memories) or not reply.total:
        output.print_note(reply, f"{format_count(reply.total, 'memory', 'memories')} in all")


async def search(service: Service, chosen: MemoryFilter, output: Output) -> None:
    """Print the memories that match a text."""
    scored = await search_memories(service, chosen)
    reply = scored.model_dump(mode="json", exclude={"strategies"})
    if not scored.memories:
        output.print_note(reply, f"no memory matches {chosen.words!r}")
    elif not output.print_json(reply):
        _print(((match.memory, f"{match.score:.2f}") for match in scored.memories), "score")


async def forget(service: Service, body: ForgetBody, output: Output) -> None:
    """Forget memories and print their number."""
    reply = await service.forget(body)
    output.print_note(reply, f"{format_count(reply.forgotten, 'memory', 'memories')} forgotten")


async def export(service: Service, chosen: MemoryFilter, file: WritablePath, output: Output) -> None:
    """Write one line of JSON per memory, or one document with --json."""
    memories = [memory async for page in iterate_pages(service, chosen) for memory in page.memories]
    lines = "".join(f"{memory.model_dump_json()}\n" for memory in memories)
    if file is not None:
        write_file(file, lines.encode())
        count = format_count(len(memories), "memory", "memories")
        output.print_note({"file": str(file), "memories": len(memories)}, f"{count} written to {file}")
    elif not output.print_json(memories):
        print_json_lines(lines)


def _print(memories: Iterable[tuple[Memory, str]], score: str = "") -> None:
    """Print memories as a table, one line each, with their scores if there are any."""
    print_rows(
        ("id", "kind", "since", "uses", "sure", *([score] if score else []), "memory"),
        (
            (
                *(
                    memory.id,
                    memory.kind,
                    f"{memory.created_at:%Y-%m-%d}",
                    f"{memory.use_count:,}",
                    f"{memory.confidence:.0%}",
                ),
                *([points] if score else []),
                truncate_line(memory.text, _WIDTH) + (f" ({status})" if (status := describe_status(memory)) else ""),
            )
            for memory, points in memories
        ),
        numbers=("uses", "sure", score),
    )
