"""Write the outline of a report: its topics in reading order."""

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.text.questions import format_heading, shorten
from tenure.contracts.messages import Message
from tenure.roles.base import EVIDENCE_RULE, Evidence, Role, RoleInput, RoleOutput, mark_passages, wrap_in_tag
from tenure.roles.prompting import join_parts, render_list, render_preferences

SYSTEM = f"""You plan a research report: its topics, in reading order. You are given the question, the questions inside
it and passages that show what the sources hold.

Rules:
- At most the given number of topics; fewer if the question is small. Together they answer the question, and each
  part that it asks about belongs to one of them.
- Every topic is about the question; none is about a document as such, and none is called introduction, overview,
  conclusion, summary or references.
- No two topics overlap: a fact has one place. The questions inside the question are no outline; where they overlap,
  merge them.
- A reader's order: what it is, how the subjects compare, what they demand, their limits. Leave out what the question
  does not ask for.
- The report opens with the answer and closes with recommendations and with what is not known, so none of these is a
  topic. If the question asks what to choose, plan the facts that decide it.
- Plan only what the passages can carry, but leave no part of the question out.
- heading: two to eight words, as a reader would search for it. question: one full sentence that says what the section
  has to answer, with the subject named.
- answer: the paragraph of 80 to 120 words that an ideal source on this topic would contain, in the language of the
  passages. It is only compared with real passages and never shown, so state things plainly and without reservation.

{EVIDENCE_RULE}"""


class OutlinerInput(RoleInput):
    """Question and limits of the outline."""

    question: str
    """The question."""
    sub_questions: tuple[str, ...]
    """Its sub-questions."""
    max_topics: int
    """Maximum number of topics."""
    feedback: tuple[str, ...] = ()
    """Feedback of people."""
    preferences: tuple[str, ...] = ()
    """Preferences of the reader for every report."""


MAX_QUESTION_CHARACTERS = 1000
"""Maximum length of a topic's question; the question of a run may be longer."""

MAX_ANSWER_CHARACTERS = 1200
"""Maximum length of the hypothetical answer to a topic's question."""
MAX_TOPICS = 12
"""Maximum number of topics of an outline, whatever the effort."""


class PlannedTopic(BaseModel):
    """A topic."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    heading: str = Field(min_length=1, max_length=160)
    """Two to eight words."""
    question: str = Field(min_length=1, max_length=MAX_QUESTION_CHARACTERS)
    """The question that the section has to answer, in one sentence."""
    answer: str = Field(default="", max_length=MAX_ANSWER_CHARACTERS)
    """The paragraph of an ideal source on it."""


class OutlinerOutput(RoleOutput):
    """The outline."""

    topics: tuple[PlannedTopic, ...] = Field(min_length=1, max_length=MAX_TOPICS)
    """Topics in reading order."""


def render(input: OutlinerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(
        mark_passages(evidence.passages),
        wrap_in_tag("question", input.question),
        wrap_in_tag("sub_questions", render_list("Questions inside it", input.sub_questions))
        if len(input.sub_questions) > 1
        else "",
        wrap_in_tag("feedback", render_list("Feedback of people", input.feedback)) if input.feedback else "",
        render_preferences(input.preferences),
        f"At most {input.max_topics} topics.",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: OutlinerInput, evidence: Evidence) -> OutlinerOutput:
    """Use the parts of the question as topics, whatever headings the documents have."""
    asked = input.sub_questions[: input.max_topics] if len(input.sub_questions) > 1 else (input.question,)
    return OutlinerOutput(topics=tuple(_build_topic(format_heading(question), question) for question in asked))


def _build_topic(heading: str, question: str) -> PlannedTopic:
    return PlannedTopic(heading=heading, question=shorten(question, MAX_QUESTION_CHARACTERS))


ROLE = Role(
    "outliner", "main", OutlinerInput, OutlinerOutput, render, fallback, read_by_people=True, reads_evidence=False
)
