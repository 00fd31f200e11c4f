"""Query refiner: what to search for next, given what was found, and what for (document 003, retrieval strategies)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from pydantic import Field

from tenure.algorithms.research.planning import same
from tenure.algorithms.retrieval.bridge_entities import bridges
from tenure.algorithms.retrieval.query_expansion import shared_words
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import shorten
from tenure.contracts.evidence.retrieval import Purpose
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.prompting import as_list, joined

SYSTEM = f"""You search a document collection for a task, one query after the other. You are given the task, the
queries made so far, passages that were found, and what the next query is for.

- complete: true if the passages hold all that the query could bring, or if nothing suggests that another query would
  find more.
- query: else the next query, a full question or a dense phrase with its subject named. Never a query that was made
  before. Empty if complete.

{EVIDENCE_RULE}"""

PURPOSES: Final[Mapping[Purpose, str]] = {
    "next_hop": "The next query takes a step on the way to the answer. Often a passage names what it has to be about: "
    "a person, a work, a place, a term; then ask about that by its name. Example: the task is “Where was the author of "
    "Middlemarch born?”, a passage says that George Eliot wrote it; the next query is “Where was George Eliot born?”.",
    "reword": "The next query asks the task again in the words that the documents use for it, taken from passages that "
    "are to the point, or in words that such a document would use where none is.",
    "narrow": "The passages are a group among more that a broad search has found. The next query asks the task about "
    "what this group is about, and only that.",
    "supporting": "The task is a position, or asks about one. The next query finds evidence for it: reasons, findings, "
    "examples that bear it out.",
    "contradicting": "The task is a position, or asks about one. The next query finds evidence against it: objections, "
    "failures, findings that say otherwise.",
}
"""What the model is told of each purpose."""


class QueryRefinerInput(RoleInput):
    """What is searched for."""

    question: str
    """The question of the whole report."""
    task: str
    """What is to be found."""
    made: tuple[str, ...]
    """Queries made so far, the task first."""
    purpose: Purpose = "next_hop"
    """What the next one is for."""


class QueryRefinerOutput(RoleOutput):
    """What comes next."""

    complete: bool
    """Whether the search is at its end."""
    query: str = Field(max_length=1000)
    """The next query; empty if complete."""


def render(input: QueryRefinerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(
        mark_passages(evidence.passages),
        tagged("question", input.question),
        tagged("topic", input.task),
        tagged("queries", as_list("Queries made", input.made)),
        PURPOSES[input.purpose],
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: QueryRefinerInput, evidence: Evidence) -> QueryRefinerOutput:
    """Ask what the purpose asks for, in the first words that were not used before."""
    for wanted in _WANTED[input.purpose](input, evidence.passages):
        query = shorten(wanted, 1000)
        if not any(same(query, before) for before in input.made):
            return QueryRefinerOutput(complete=False, query=query)
    return QueryRefinerOutput(complete=True, query="")


def _bridged(input: QueryRefinerInput, passages: Sequence[Passage]) -> Iterator[str]:
    """Yield what is still open about the names that were said nearest to the last query's words."""
    last = input.made[-1] if input.made else input.task
    yield from (bridge.query for bridge in bridges(last, passages, input.made))


def _reworded(input: QueryRefinerInput, passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the task with words that what was found shares and no query had."""
    found = shared_words(" ".join((input.task, *input.made)), passages, EXPANSION)
    if found:
        yield f"{input.task} {' '.join(found)}"


def _narrowed(input: QueryRefinerInput, passages: Sequence[Passage]) -> Iterator[str]:
    """Yield the task with what the group has in common: its words, or where it has none, its best title."""
    found = shared_words(input.task, passages, EXPANSION)
    named = " ".join(found) or (passages[0].title if passages else "")
    if named:
        yield f"{named}: {input.task}"


def _for(words: str) -> Callable[[QueryRefinerInput, Sequence[Passage]], Iterable[str]]:
    return lambda input, passages: [f"{input.task} {words}"]


EXPANSION: Final = 4
"""Words that the twin adds to a query."""

_WANTED: Final[Mapping[Purpose, Callable[[QueryRefinerInput, Sequence[Passage]], Iterable[str]]]] = {
    "next_hop": _bridged,
    "reword": _reworded,
    "narrow": _narrowed,
    "supporting": _for("evidence in favour, advantage, confirmed, succeeds"),
    "contradicting": _for("evidence against, objection, drawback, fails, rejected"),
}


ROLE = Role("query_refiner", "fast", QueryRefinerOutput, render, offline)
