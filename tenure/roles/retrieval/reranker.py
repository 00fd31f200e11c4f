"""Reranker: puts what a search has found into order, all of it seen at once (document 003, reranking).

Listwise reranking by a chat model follows Sun et al., "Is ChatGPT Good at Search? Investigating Large Language
Models as Re-Ranking Agents" (2023). The twin keeps the order of the search, whose second stage has done its part.
"""

from pydantic import Field

from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.prompting import joined

SYSTEM = f"""You put passages that a search has found into order. You are given what was searched for and the numbered
passages.

- order: the numbers of the passages, the most useful first, each once. A passage that states the answer comes before
  one that only touches the subject; of two that say the same, the more precise comes first. Where an answer needs
  several passages, those that complete each other come before those that repeat. Passages beside the question come
  last. Length, style and the order in which you see them mean nothing.

Example: three passages, the third states the answer, the first is about something else: [3, 2, 1].

{EVIDENCE_RULE}"""


class RerankerInput(RoleInput):
    """What was searched for."""

    query: str
    """The query."""


class RerankerOutput(RoleOutput):
    """The order."""

    order: tuple[int, ...] = Field(max_length=200)
    """Numbers of the passages, the most useful first."""


def render(input: RerankerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(mark_passages(evidence.passages), tagged("question", input.query))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: RerankerInput, evidence: Evidence) -> RerankerOutput:
    """Keep the order of the search."""
    return RerankerOutput(order=tuple(range(1, len(evidence.passages) + 1)))


ROLE = Role("reranker", "fast", RerankerOutput, render, offline)
