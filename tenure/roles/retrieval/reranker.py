"""Order the passages of a search by their usefulness, all at the same time.

Listwise reranking by a chat model follows Sun et al., "Is ChatGPT Good at Search? Investigating Large Language
Models as Re-Ranking Agents" (2023). The fallback keeps the order, since the search has already reranked its results.
"""

from pydantic import Field

from tenure.contracts.messages import Message
from tenure.roles.base import EVIDENCE_RULE, Evidence, Role, RoleInput, RoleOutput, mark_passages, wrap_in_tag
from tenure.roles.prompting import join_parts

SYSTEM = f"""You put passages that a search has found into order. You are given what was searched for and the numbered
passages.

- order: the numbers of the passages, the most useful first, each once. A passage that states the answer comes before
  one that only touches the subject; of two that say the same, the more precise comes first. If an answer needs
  several passages, passages that complete each other come before repetitions. Passages that are not about the question
  come last. Length, style and the order in which you see them mean nothing.

Example: three passages, the third states the answer, the first is about something else: [3, 2, 1].

{EVIDENCE_RULE}"""


class RerankerInput(RoleInput):
    """Query of the search."""

    query: str
    """The query."""


class RerankerOutput(RoleOutput):
    """The order."""

    order: tuple[int, ...] = Field(max_length=200)
    """Numbers of the passages, the most useful first."""


def render(input: RerankerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(mark_passages(evidence.passages), wrap_in_tag("question", input.query))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: RerankerInput, evidence: Evidence) -> RerankerOutput:
    """Keep the order of the search."""
    return RerankerOutput(order=tuple(range(1, len(evidence.passages) + 1)))


ROLE = Role("reranker", "fast", RerankerInput, RerankerOutput, render, fallback)
