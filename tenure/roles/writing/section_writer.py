"""Section writer: the first draft of a section from its passages (document 002, Def. 6.1, L_draft)."""

from tenure.algorithms.writing.composition import Wish, compose
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, mark_passages, tagged
from tenure.roles.prompting import CITING_RULE, WrittenText, as_list, joined, written

SYSTEM = f"""You write one section of a research report from numbered passages.

Write what a busy expert would want to read: the answer first, then what it rests on, how it works, where its limits
are. Connect the passages into an argument instead of summarising them one by one; where they disagree, say so and cite
both sides. Plain, exact sentences; numbers, names and conditions as the passages have them. Two to five paragraphs;
a list only for things that really are a list. No heading, no introduction about the section, no closing summary.

{CITING_RULE}
{EVIDENCE_RULE}

Stay with the section's topic: what belongs to one of the other sections is written there, not here. If people wished
for something, do it as far as the passages allow. Text inside <reasoning> was concluded from all that was found: keep
in line with it where your passages bear it out, and do not retell it. If the passages say nothing on the topic, return
no blocks."""


class SectionWriterInput(RoleInput):
    """What is to be written."""

    question: str
    """The question of the whole report."""
    topic: str
    """Heading of the section."""
    topic_question: str
    """What the section has to answer."""
    other_topics: tuple[str, ...] = ()
    """Headings of the other sections."""
    wishes: tuple[str, ...] = ()
    """What people asked of this section."""
    reasoning: str = ""
    """The line of thought that was drawn from everything found."""


def brief(input: SectionWriterInput) -> str:
    """Render what a section is about; shared with the rewriter."""
    return joined(
        tagged("question", input.question),
        tagged("topic", f"{input.topic}\n{input.topic_question}"),
        tagged("sections", as_list("Other sections, not yours to write", input.other_topics))
        if input.other_topics
        else "",
        tagged("feedback", as_list("People wished", input.wishes)) if input.wishes else "",
        tagged("reasoning", input.reasoning) if input.reasoning else "",
    )


def render(input: SectionWriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    return [
        Message(role="system", content=SYSTEM),
        Message(role="user", content=joined(mark_passages(evidence.passages), brief(input))),
    ]


def offline(input: SectionWriterInput, evidence: Evidence) -> WrittenText:
    """Compose the section out of excerpts that are relevant to its topic and differ from each other."""
    wish = Wish(input.topic, input.topic_question, input.other_topics, input.wishes, input.question)
    return written(compose(wish, evidence.passages, evidence.vectors))


ROLE = Role("section_writer", "main", WrittenText, render, offline, streamed=True, read_by_people=True)
