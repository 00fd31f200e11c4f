"""Outliner: the topics of the report, in the order in which they are read (document 001 §3.2, outline)."""

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.fallback.facets import facets
from tenure.algorithms.text.questions import heading, shorten
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    Message,
    Role,
    RoleInput,
    RoleOutput,
    mark_passages,
    tagged,
)
from tenure.roles.prompting import as_list, joined

SYSTEM = f"""You plan a research report: its topics, in reading order. You are given the question, the questions inside
it and passages that show what the sources hold.

Rules:
- At most the given number of topics; fewer if the question is small. Together they answer the question.
- Every topic is about the question; none is about a document as such, and none is called introduction, overview,
  conclusion, summary or references.
- No two topics overlap: a fact has one place.
- Plan only what the passages can carry, but leave no part of the question out.
- heading: two to eight words, as a reader would search for it. question: one full sentence that says what the section
  has to answer, with the subject named.

{EVIDENCE_RULE}"""


class OutlinerInput(RoleInput):
    """What is to be planned."""

    question: str
    """The question."""
    sub_questions: tuple[str, ...]
    """The questions inside it."""
    max_topics: int
    """Topics at the most."""
    wishes: tuple[str, ...] = ()
    """What people asked for."""


MAX_QUESTION = 1000
"""Characters of a topic's question at the most; what a person asked may be longer."""


class PlannedTopic(BaseModel):
    """A topic."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    heading: str = Field(min_length=1, max_length=160)
    """Two to eight words."""
    question: str = Field(min_length=1, max_length=MAX_QUESTION)
    """What the section has to answer, in one sentence."""


class OutlinerOutput(RoleOutput):
    """The outline."""

    topics: tuple[PlannedTopic, ...] = Field(min_length=1)
    """Topics in reading order."""


def render(input: OutlinerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(
        mark_passages(evidence.passages),
        tagged("question", input.question),
        tagged("topics", as_list("Questions inside it", input.sub_questions)),
        tagged("feedback", as_list("People wished", input.wishes)) if input.wishes else "",
        f"At most {input.max_topics} topics.",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: OutlinerInput, evidence: Evidence) -> OutlinerOutput:
    """Take the parts of the question as topics; for an undivided one the headings of the evidence nearest to it."""
    asked = [_planned(heading(q), q) for q in input.sub_questions[: input.max_topics]]
    if len(asked) < 2:
        found = facets(input.question, evidence.passages, evidence.vectors, input.max_topics)
        asked = [_planned(f.heading, f"{f.heading}: {input.question}") for f in found] or asked
    return OutlinerOutput(topics=tuple(asked))


def _planned(heading: str, question: str) -> PlannedTopic:
    return PlannedTopic(heading=heading, question=shorten(question, MAX_QUESTION))


ROLE = Role("outliner", "main", OutlinerOutput, render, offline, read_by_people=True)
