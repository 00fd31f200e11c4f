"""The tool `lookup`: find a literal term in the whole documents of passages that were seen."""

from typing import Annotated

from pydantic import StringConstraints

from activities.tools import ToolActivities
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.tools import (
    MAX_LOOKUP_DOCUMENTS,
    LookupReply,
    LookupRequest,
    Observation,
    PassageNumber,
    ToolArguments,
)
from workflows.research.tool import Tool
from workflows.research.tool_context import QUOTED_RELIABILITY, ToolContext, observe_lines


class LookupArguments(ToolArguments):
    """Arguments of `lookup`."""

    term: Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=100)]
    """A word, name, number or phrase exactly as documents write it; case does not matter."""
    passage: PassageNumber | None = None
    """Number of a passage whose whole document is looked through; null for the documents of all passages seen."""


async def look_up_term(context: ToolContext, arguments: LookupArguments) -> Observation:
    """List sentences that contain a term."""
    numbers = (arguments.passage,) if arguments.passage else ()
    selected = context.select_passages(numbers, len(context.passages))
    sources = dict.fromkeys(passage.source for passage in selected)
    request = LookupRequest(term=arguments.term, sources=tuple(sources)[:MAX_LOOKUP_DOCUMENTS])
    reply = await context.clients.execute_activity(ToolActivities.find_term, request, summary=arguments.term)
    if not reply.matches:
        return Observation(problem=f"{arguments.term!r} occurs in none of these documents: search for it")
    passages = _rate_matches(context, reply)
    passage_numbers = context.get_passage_numbers(passages)
    lines = [f"[{passage_numbers[match.passage.chunk]}] {match.sentence}" for match in reply.matches]
    count = f"{reply.count} sentence(s) have it; these come first." if reply.count > len(lines) else ""
    return observe_lines([*filter(None, (count,)), *lines], passages, QUOTED_RELIABILITY)


def _rate_matches(context: ToolContext, reply: LookupReply) -> tuple[PassageRef, ...]:
    """Return the passages of the matches, each once.

    A lookup measures no relevance: a new passage gets that of the best known passage of its document.
    """
    best: dict[SourceId, float] = {}
    for passage in context.passages.values():
        best[passage.source] = max(best.get(passage.source, 0.0), passage.relevance)
    return tuple(
        dict.fromkeys(
            context.passages.get(match.passage.chunk)
            or match.passage.model_copy(update={"relevance": best.get(match.passage.source, 0.0)})
            for match in reply.matches
        )
    )


TOOL = Tool(
    name="lookup",
    description="Finds a literal term in the whole documents of passages that were seen; a sentence that defines it "
    "comes first.",
    arguments=LookupArguments,
    bounds="50 documents, 12 sentences",
    use=look_up_term,
)
