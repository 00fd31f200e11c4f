"""Choose the next search query of a task, given the passages found so far and the purpose of the query."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from pydantic import Field

from tenure.algorithms.research.open_parts import MIN_SHARE, list_parts, select_open_parts
from tenure.algorithms.research.planning import is_same_query
from tenure.algorithms.retrieval.bridge_entities import find_bridge_entities
from tenure.algorithms.retrieval.query_expansion import extract_feedback_terms
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.retrieval import QueryPurpose
from tenure.contracts.messages import Message
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    Role,
    RoleInput,
    RoleOutput,
    mark_passages,
    neutralise,
    wrap_in_tag,
)
from tenure.roles.prompting import join_parts, render_list

SYSTEM = f"""You search a document collection for a task, one query after the other. You are given the task, the
queries made so far, passages that were found, and what the next query is for.

- complete: true only if every subject and every part of the task has a passage that answers it, or if nothing suggests
  that the collection holds more.
- query: else the next query, a full question or a dense phrase with its subject named. If the task names several
  subjects, ask about one that has no passage yet. Use names and terms of the task or of the passages, never a list of
  guessed names, and never a query that was made before. Empty if complete.

{EVIDENCE_RULE}"""

PURPOSE_PROMPTS: Final[Mapping[QueryPurpose, str]] = {
    "next_hop": "The next query takes a step on the way to the answer. Often a passage names what it has to be about: "
    "a person, a work, a place, a term; then ask about that by its name. Example: the task is “Where was the author of "
    "Middlemarch born?”, a passage says that George Eliot wrote it; the next query is “Where was George Eliot born?”.",
    "reword": "The next query asks the task again in the words that the documents use for it, taken from passages that "
    "are to the point, or in words that such a document would use if none is.",
    "narrow": "The passages are a group among more that a broad search has found. The next query asks the task about "
    "what this group is about, and only that.",
    "supporting": "The task is a position, or asks about one. The next query finds evidence for it: reasons, findings, "
    "examples that support it.",
    "contradicting": "The task is a position, or asks about one. The next query finds evidence against it: objections, "
    "failures, findings that say otherwise.",
}
"""Instructions of each purpose."""


class QueryRefinerInput(RoleInput):
    """Task and earlier queries."""

    question: str
    """The question of the whole report."""
    task: str
    """The task."""
    queries: tuple[str, ...]
    """Queries so far, the task first."""
    purpose: QueryPurpose = "next_hop"
    """Purpose of the next query."""
    only_open_parts: bool = False
    """Whether another query is made only if the passages do not speak of a part of the task."""


class QueryRefinerOutput(RoleOutput):
    """The next query."""

    complete: bool
    """Whether the search is complete."""
    query: str = Field(default="", max_length=1000)
    """The next query; empty if complete."""


def render(input: QueryRefinerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    further = _list_further_queries(input)
    user = join_parts(
        mark_passages(evidence.passages),
        wrap_in_tag("question", input.question),
        wrap_in_tag("task", input.task),
        wrap_in_tag("queries", render_list("Queries made besides the task itself", further) or "None besides the task"),
        _render_open_parts(input, evidence),
        PURPOSE_PROMPTS[input.purpose],
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


MIN_SHARE_OF_HOP: Final = 0.75
"""Minimum share of the words of a part in one passage, so that no further hop is needed for it: a passage on the first
link of a chain contains most of the words of the question."""


def _list_further_queries(input: QueryRefinerInput) -> tuple[str, ...]:
    return tuple(query for query in input.queries if query != input.task)


def find_open_parts(input: QueryRefinerInput, evidence: Evidence) -> tuple[str, ...]:
    """Return the parts of the task that neither a passage nor a query after the first speaks of."""
    passages = (" ".join((passage.title, *passage.heading_path, passage.text)) for passage in evidence.passages)
    texts = (*passages, *_list_further_queries(input))
    min_share = MIN_SHARE_OF_HOP if input.purpose == "next_hop" else MIN_SHARE
    return select_open_parts(list_parts(input.task), texts, min_share)


def _render_open_parts(input: QueryRefinerInput, evidence: Evidence) -> str:
    if input.purpose in ("supporting", "contradicting"):
        return ""
    return neutralise(render_list("No passage speaks of", find_open_parts(input, evidence)))


def needs_model(input: QueryRefinerInput, evidence: Evidence) -> bool:
    """Return whether a model can add a query: always, unless only a part without a passage calls for one."""
    return not input.only_open_parts or bool(find_open_parts(input, evidence))


def fallback(input: QueryRefinerInput, evidence: Evidence) -> QueryRefinerOutput:
    """Return the first proposal for the purpose that is not an earlier query."""
    if input.only_open_parts and not find_open_parts(input, evidence):
        return QueryRefinerOutput(complete=True)
    for proposal in _PROPOSERS[input.purpose](input, evidence.passages):
        query = shorten(proposal, 1000)
        if not any(is_same_query(query, before) for before in input.queries):
            return QueryRefinerOutput(complete=False, query=query)
    return QueryRefinerOutput(complete=True)


def _propose_bridges(input: QueryRefinerInput, passages: Sequence[Passage]) -> Iterator[str]:
    """Yield questions about names near the words of the last query."""
    last = input.queries[-1] if input.queries else input.task
    yield from (bridge.query for bridge in find_bridge_entities(last, passages, input.queries))


def _reword_task(input: QueryRefinerInput, passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the task with words that the passages share and no query contains."""
    terms = extract_feedback_terms(" ".join((input.task, *input.queries)), passages, MAX_ADDED_WORDS)
    if terms:
        yield _add_terms(input.task, terms)


def _narrow_task(input: QueryRefinerInput, passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the task with the title and the heading of the best passage of a group, which name what it is about."""
    if passages:
        names = dict.fromkeys(filter(None, (passages[0].title, *passages[0].headings[-1:])))
        yield f"{', '.join(names)}: {input.task}"


def _add_terms(task: str, terms: Iterable[str]) -> str:
    """Return a query that reads as the task, with terms in brackets."""
    return f"{task} ({', '.join(terms)})"


def _append_terms(*terms: str) -> Callable[[QueryRefinerInput, Sequence[Passage]], Iterable[str]]:
    return lambda input, passages: [_add_terms(input.task, terms)]


MAX_ADDED_WORDS: Final = 4
"""Maximum number of words that the fallback adds to a query."""

_PROPOSERS: Final[Mapping[QueryPurpose, Callable[[QueryRefinerInput, Sequence[Passage]], Iterable[str]]]] = {
    "next_hop": _propose_bridges,
    "reword": _reword_task,
    "narrow": _narrow_task,
    "supporting": _append_terms("evidence in favour", "advantage", "confirmed", "succeeds"),
    "contradicting": _append_terms("evidence against", "objection", "drawback", "fails", "rejected"),
}


ROLE = Role("query_refiner", "fast", QueryRefinerInput, QueryRefinerOutput, render, fallback, needs_model=needs_model)
