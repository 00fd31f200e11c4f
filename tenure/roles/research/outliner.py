"""Write the outline of a report: its topics in reading order, each with its first searches."""

from tenure.algorithms.retrieval.decomposition import decompose_into_standalone_parts
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import format_heading, shorten
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.messages import Message
from tenure.contracts.research.report import Topic
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    PostprocessedRole,
    RoleInput,
    RoleOutput,
    mark_documents,
    wrap_in_tag,
)
from tenure.roles.outline_entries import MAX_KNOWN, MAX_QUESTION_CHARACTERS, OutlinerOutput, PlannedTopic, parse_outline
from tenure.roles.prompting import join_parts, render_list, render_preferences

SYSTEM = f"""You plan a research report: its topics, which become its sections, and the first searches for each. You are
given the question, and passages that show what the documents hold and in which words.

{EVIDENCE_RULE}"""

TASK = f"""Answer with entries, each at the start of a line, one topic after the other, and nothing else:
TOPIC: the heading, two to eight words, as a reader would search for it.
QUESTION: what the section has to answer, in one sentence that names its subject in full.
ANSWER: what an ideal source says on it, in 40 to 80 words, in the language of the passages. It is only compared with
passages and never shown, so state things plainly and without reservation.
KNOWN: the numbers of the passages shown that state something which the section needs, the most important first, at most
{MAX_KNOWN}; the writer reads them. Left out if there is none.
SEARCH: a short question or phrase, of at most 15 words, that finds the passage on one thing which the section needs.
One line for each search, and as many as the topic has such things.

Topics:
- They follow the question. Things that it asks for separately, and that different pages would answer, are topics of
  their own; things that one page would answer together are one topic. A small question has one topic.
- Each thing that the question asks for belongs to exactly one topic, also if no passage shown speaks of it: the
  searches are to find it.
- A reader's order: what it is, how the subjects compare, what they demand, their limits.
- The report opens with the answer, with what speaks for and against a position, and closes with recommendations and
  with what is not known, so none of these is a topic. An introduction, an overview and a document as such are no topics
  either. If the question asks what to choose or to do, plan the facts that decide it.

Searches:
- Each is read alone and names its subject: “delivery limit of quorum queues, default”, not “What is the default?”.
- One thing each, in the words of a text that states it. Of several subjects, criteria or versions, each has its own.
- Terms, settings and commands that you know and the passages lack are welcome in a search."""
"""Instructions of the outliner."""


class OutlinerInput(RoleInput):
    """Question and limits of the outline."""

    question: str
    """The question."""
    sub_questions: tuple[str, ...] = ()
    """Its sub-questions, if they were found before; empty for one that is not divided."""
    max_topics: int
    """Maximum number of topics."""
    max_queries: int = 0
    """Maximum number of searches of all topics."""
    feedback: tuple[str, ...] = ()
    """Feedback of people."""
    preferences: tuple[str, ...] = ()
    """Preferences of the reader for every report."""


class Outline(RoleOutput):
    """Outline with the passages that its topics name."""

    topics: tuple[Topic, ...]
    """Topics in reading order."""


def render(input: OutlinerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    task = join_parts(
        wrap_in_tag("sub_questions", render_list("Questions inside it", input.sub_questions))
        if len(input.sub_questions) > 1
        else "",
        wrap_in_tag("feedback", render_list("Feedback of people", input.feedback)) if input.feedback else "",
        render_preferences(input.preferences),
        TASK,
        f"At most {input.max_topics} topics, and at most {input.max_queries} searches in all.",
    )
    user = join_parts(
        mark_documents(_order_by_document(evidence)),
        wrap_in_tag("question", input.question),
        f'<task name="outliner">\n{task}\n</task>',
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def _order_by_document(evidence: Evidence) -> list[Passage]:
    """Return passages by document, the document of the best one first, each in its own order."""
    places: dict[str, int] = {}
    for rank, passage in enumerate(evidence.passages):
        places.setdefault(passage.source, rank)
    return sorted(evidence.passages, key=lambda passage: (places[passage.source], passage.start))


def build_outline(input: OutlinerInput, output: OutlinerOutput, evidence: Evidence) -> Outline:
    """Return the topics with the passages that they name."""
    passages = {
        n: PassageRef(chunk=passage.chunk, source=passage.source, score=0.0, relevance=passage.relevance)
        for n, passage in enumerate(_order_by_document(evidence), 1)
    }
    return Outline(
        topics=tuple(
            Topic(
                heading=topic.heading.strip(),
                question=topic.question,
                queries=topic.queries,
                hypothetical_answer=topic.answer.strip(),
                passages=tuple(passages[number] for number in topic.known if number in passages),
            )
            for topic in output.topics
        )
    )


def fallback(input: OutlinerInput, evidence: Evidence) -> OutlinerOutput:
    """Use the parts of the question as topics, whatever headings the documents have."""
    parts = input.sub_questions or [part.question for part in decompose_into_standalone_parts(input.question)]
    questions = parts[: input.max_topics] if len(parts) > 1 else (input.question,)
    return OutlinerOutput(topics=tuple(_build_topic(format_heading(question), question) for question in questions))


def _build_topic(heading: str, question: str) -> PlannedTopic:
    return PlannedTopic(heading=heading, question=shorten(question, MAX_QUESTION_CHARACTERS))


ROLE = PostprocessedRole(
    "outliner",
    "main",
    OutlinerInput,
    OutlinerOutput,
    render,
    fallback,
    parse_text=parse_outline,
    read_by_people=True,
    reads_evidence=False,
    postprocess=build_outline,
    result=Outline,
)
