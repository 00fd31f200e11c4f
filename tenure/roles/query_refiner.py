"""Query refiner: what to search for next, given what a search has brought (document 003, multi-hop and iterative)."""

from pydantic import Field

from tenure.algorithms.names import new_names
from tenure.algorithms.plan import same
from tenure.algorithms.question import shorten
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.writing import as_list, joined

SYSTEM = f"""You search a document collection for the answer to a task, one query after the other. You are given the
task, the queries made so far and the passages they found.

- complete: true if the passages hold all that the task asks for, or if nothing suggests that another query would find
  more.
- query: else the next query. Often a passage names what the next one has to be about: a person, a work, a place, a
  term; then ask about that by its name. Where the passages are beside the point, say the same in the words that such a
  document would use. Never a query that was made before. Empty if complete.

Example: the task is "Where was the author of Middlemarch born?", a passage says that George Eliot wrote it; the next
query is "Where was George Eliot born?".

{EVIDENCE_RULE}"""


class QueryRefinerInput(RoleInput):
    """What is searched for."""

    question: str
    """The question of the whole report."""
    task: str
    """What is to be found."""
    made: tuple[str, ...]
    """Queries made so far, the task first."""


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
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: QueryRefinerInput, evidence: Evidence) -> QueryRefinerOutput:
    """Ask about the name that came up nearest to the task's words and that no query had."""
    made = " ".join(input.made)
    for name in new_names(made, evidence.passages):
        query = shorten(f"{name}: {input.task}", 1000)
        if not any(same(query, before) for before in input.made):
            return QueryRefinerOutput(complete=False, query=query)
    return QueryRefinerOutput(complete=True, query="")


ROLE = Role("query_refiner", "fast", QueryRefinerOutput, render, offline)
