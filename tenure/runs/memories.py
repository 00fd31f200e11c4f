"""List, search, write and forget memories, by workflows that run where the knowledge base is."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

from tenure.contracts.knowledge.memory import (
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
    WriteMemoryReply,
    WriteMemoryRequest,
)
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest
from tenure.runs.messages import ForgetBody, MemoryFilter, RememberBody
from tenure.runs.session.connection import MEMORY_WORKFLOW, Session, run_workflow

ANSWER_TIMEOUT = timedelta(minutes=35)
"""Time for an answer, including the start of a worker; forgetting many memories takes long."""

MAX_PAGE = 500
"""Maximum number of memories in a page."""


async def _run_workflow(session: Session, request: MemoryRequest, action: str) -> MemoryReply:
    """Run the memory workflow where the knowledge base is."""
    return await run_workflow(
        session,
        MEMORY_WORKFLOW,
        request,
        MemoryReply,
        action=f"memory-{action}",
        summary=f"{action} memories",
        limit=ANSWER_TIMEOUT,
    )


async def list_memories(session: Session, chosen: MemoryFilter) -> MemoriesReply:
    """Return the latest memories of a choice, and the number of all memories."""
    listed: list[Memory] = []
    total = 0
    async for page in iterate_pages(session, chosen, chosen.limit):
        listed += page.memories
        total = page.total
        if len(listed) >= chosen.limit:
            break
    return MemoriesReply(memories=tuple(listed[: chosen.limit]), total=total)


async def iterate_pages(session: Session, chosen: MemoryFilter, size: int = MAX_PAGE) -> AsyncIterator[MemoriesReply]:
    """Yield the memories of a choice, page by page."""
    after = chosen.after
    while True:
        request = MemoriesRequest(owner=chosen.owner, kinds=tuple(chosen.kinds), after=after, limit=size)
        page = (await _run_workflow(session, MemoryRequest(page=request), "list")).page
        yield page
        if not page.memories:
            return
        after = page.memories[-1].id


async def search_memories(session: Session, chosen: MemoryFilter) -> MemorySearchReply:
    """Return the memories of a choice that match its words, best first."""
    request = MemorySearchRequest(
        query=chosen.words,
        owner=chosen.owner,
        kinds=tuple(chosen.kinds) or ("short_term", *PERMANENT_KINDS),
        limit=chosen.limit,
        unrestricted=True,
        now=datetime.now(UTC),
    )
    return (await _run_workflow(session, MemoryRequest(search=request), "search")).found


async def write_memory(session: Session, body: RememberBody) -> Memory:
    """Store a new memory, or the new text of a memory.

    Raises:
        InvalidRequest: it was not written.
    """
    fact = None
    if body.subject is not None and body.relation is not None and body.object is not None:
        fact = FactDetails(subject=body.subject, predicate=body.relation, object=body.object)
    request = WriteMemoryRequest(
        text=body.text,
        kind=body.kind,
        fact=fact,
        replaces=body.replaces or "",
        owner=body.owner,
        now=datetime.now(UTC),
    )
    action = "edit" if body.replaces else "add"
    reply = (await _run_workflow(session, MemoryRequest(write=request), action)).written
    if reply.problem or reply.memory is None:
        raise InvalidRequest(_explain_problem(reply, body))
    return reply.memory


def _explain_problem(reply: WriteMemoryReply, body: RememberBody) -> str:
    """Return the reason for which a memory was not written, and what to do."""
    owner = f" --owner {body.owner}" if body.owner else ""
    existing, problem = reply.memory, reply.problem
    if problem == "duplicate" and existing:
        return (
            f"memory {existing.id} ({existing.kind}) has this text already: "
            f"`{PROGRAM} memory forget {existing.id}{owner}` removes it"
        )
    if problem == "episode":
        return f"memory {body.replaces} is the record of a run: it can be forgotten, but not edited"
    if problem == "too_many":
        return (
            f"an owner has at most {MAX_PREFERENCES} preferences: edit or forget one; "
            f"`{PROGRAM} memory list --kind preference{owner}` shows them"
        )
    if problem == "too_long":
        return f"a preference has at most {MAX_PREFERENCE_CHARS} characters; this text has {len(body.text):,}"
    return f"this owner has no memory {body.replaces}: `{PROGRAM} memory list{owner}` shows them"


async def forget_memories(session: Session, body: ForgetBody) -> ForgetReply:
    """Forget memories.

    Raises:
        InvalidRequest: the owner has no memory of these ids.
    """
    request = ForgetRequest(
        owner=body.owner,
        ids=tuple(body.ids),
        run=body.run,
        source=body.source,
        kinds=tuple(body.kinds),
        all_memories=body.all_memories,
    )
    forgot = (await _run_workflow(session, MemoryRequest(forget=request), "forget")).forgotten
    if not forgot.forgotten and request.ids:
        raise InvalidRequest(f"this owner has no such memory: `{PROGRAM} memory list` shows them")
    return forgot


def describe_status(memory: Memory) -> str:
    """Return the reason for which a memory is not recalled or counts less, or an empty string."""
    return "waits for a second source" if memory.unconfirmed else "disputed" if memory.contradicted_by else ""
