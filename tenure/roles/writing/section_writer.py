"""Write the first draft of a section from its passages."""

from tenure.algorithms.writing.composition import CompositionRequest, compose
from tenure.contracts.evidence.passages import Draft
from tenure.contracts.messages import Message
from tenure.roles.base import EVIDENCE_RULE, Evidence, PostprocessedRole, RoleInput, mark_passages, wrap_in_tag
from tenure.roles.prompting import (
    CITING_RULE,
    WrittenText,
    add_citations,
    build_written_text,
    join_parts,
    render_list,
    render_preferences,
)

SYSTEM = f"""You write one section of a research report from numbered passages.

Write what a busy expert would want to read: the answer first, then what it rests on, how it works, and its limits.
Connect the passages into an argument instead of summarising them one by one; where they disagree, say so and cite both
sides. Plain, exact sentences; numbers, names and conditions as the passages have them. Two to five paragraphs; a list
only for things that really are a list. No heading, no introduction about the section, no closing summary.

{CITING_RULE}
{EVIDENCE_RULE}

Stay with the section's topic: what belongs to one of the other sections is written there, not here. If people gave
feedback, follow it as far as the passages allow. Text inside <reasoning> was concluded from all that was found: keep in
line with it as far as your passages support it, and do not repeat it. If the passages say nothing on the topic, return
no blocks."""


class SectionWriterInput(RoleInput):
    """Section to write."""

    question: str
    """The question of the whole report."""
    topic: str
    """Heading of the section."""
    topic_question: str
    """The question that the section has to answer."""
    other_topics: tuple[str, ...] = ()
    """Headings of the other sections."""
    feedback: tuple[str, ...] = ()
    """Feedback of people on this section."""
    reasoning: str = ""
    """The line of thought over all evidence."""
    preferences: tuple[str, ...] = ()
    """Preferences of the reader for every report."""


def render_brief(input: SectionWriterInput) -> str:
    """Render the description of a section; shared with the rewriter."""
    return join_parts(
        wrap_in_tag("question", input.question),
        wrap_in_tag("topic", f"{input.topic}\n{input.topic_question}"),
        wrap_in_tag("sections", render_list("Other sections, not yours to write", input.other_topics))
        if input.other_topics
        else "",
        wrap_in_tag("feedback", render_list("Feedback of people", input.feedback)) if input.feedback else "",
        wrap_in_tag("reasoning", input.reasoning) if input.reasoning else "",
        render_preferences(input.preferences),
    )


def render(input: SectionWriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    return [
        Message(role="system", content=SYSTEM),
        Message(role="user", content=join_parts(mark_passages(evidence.passages), render_brief(input))),
    ]


def fallback(input: SectionWriterInput, evidence: Evidence) -> WrittenText:
    """Compose the section from excerpts that are relevant to its topic and differ from each other."""
    brief = CompositionRequest(input.topic, input.topic_question, input.other_topics, input.feedback, input.question)
    return build_written_text(compose(brief, evidence.passages, evidence.embed))


ROLE = PostprocessedRole(
    "section_writer",
    "main",
    SectionWriterInput,
    WrittenText,
    render,
    fallback,
    add_citations,
    Draft,
    streamed=True,
    read_by_people=True,
)
