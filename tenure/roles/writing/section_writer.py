"""Write the first draft of a section from its passages."""

from collections.abc import Mapping, Sequence

from tenure.algorithms.text.generations import describe_generations
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.writing.composition import ComposedBlock, ComposedSentence, CompositionRequest, compose
from tenure.algorithms.writing.paragraphs import PARAGRAPH_WORDS
from tenure.contracts.evidence.disputes import PositionEvidence
from tenure.contracts.evidence.passages import Draft
from tenure.contracts.evidence.reasoning import Reasoning
from tenure.contracts.messages import Message
from tenure.contracts.run.limit_fields import ReportLength
from tenure.roles.base import EVIDENCE_RULE, Evidence, PostprocessedRole, RoleInput, mark_passages, wrap_in_tag
from tenure.roles.prompting import (
    CITING_RULE,
    FORM_RULE,
    KIND_RULE,
    WrittenText,
    add_citations,
    build_written_text,
    join_parts,
    render_list,
    render_preferences,
    render_reasoning,
)

SYSTEM = f"""You write one section of a research report from numbered passages.

Write for an expert who has to decide: the answer to the section's question first, then what it rests on, how it works,
what it demands and its limits, as far as these belong to the topic. Connect the passages into an argument instead of
summarising them one by one; where they disagree, say so and cite both sides. Plain, exact sentences; numbers, names and
conditions as the passages have them. No introduction about the section and no closing summary.

Choose the form by the content:
- `paragraph` for an argument, of at most {PARAGRAPH_WORDS} words.
- `table` where several things are compared by the same criteria: a few words to a cell, each cell with its passages. A
  cell on which the passages say nothing is a `gap`. A table that <synthesis> announces is not repeated.
- `definitions` for terms or options with one explanation each; `bullets` and `numbered` for lists and steps.
- `code` for up to fifteen lines, copied from a passage without a change.
- `heading` above a block only if the section has several parts that a reader would look up.

A rule that several of the compared things share is stated once for all of them, so that only true differences set
them apart. If the passages leave open something that the section's question asks for, say which in one sentence of kind
`gap`; do not fill it.

{CITING_RULE}
{KIND_RULE}
{FORM_RULE}
{EVIDENCE_RULE}

Stay with the section's topic: what belongs to one of the other sections is written there, not here. If people gave
feedback, follow it as far as the passages allow. Text inside <reasoning> and <synthesis> was concluded from all that
was found: keep in line with it and state nothing from it that your passages do not state. Numbers in brackets after its
steps are those of your passages that say so. Its recommendations close the report and are not given here; a fact that
this section's question asks for is stated here, even if <synthesis> has it too. If the passages say nothing on the
topic, return no blocks."""


SECTION_LENGTHS: Mapping[ReportLength, str] = {
    "short": "Length: short. State the answer and what decides it, in one or two paragraphs, a list or a table.",
    "standard": "Length: as much as the section's question needs. If one passage answers it, a few sentences suffice.",
    "long": "Length: long. Go into mechanisms, conditions, exceptions and examples wherever the passages have them.",
}
"""Instructions on the length of a section."""


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
    line: Reasoning | None = None
    """The line of thought over all evidence."""
    synthesis: str = ""
    """The synthesis of all findings."""
    preferences: tuple[str, ...] = ()
    """Preferences of the reader for every report."""
    positions: tuple[PositionEvidence, ...] = ()
    """Evidence for and against positions on the topic."""
    length: ReportLength = "standard"
    """Length of the report."""


def render_brief(input: SectionWriterInput, passages: Sequence[Passage]) -> str:
    """Render the description of a section; shared with the reviewer."""
    return join_parts(
        wrap_in_tag("question", input.question),
        wrap_in_tag("topic", _render_topic(input)),
        wrap_in_tag("sections", render_list("Other sections, not yours to write", input.other_topics))
        if input.other_topics
        else "",
        wrap_in_tag("feedback", render_list("Feedback of people", input.feedback)) if input.feedback else "",
        wrap_in_tag("reasoning", render_reasoning(input.line, passages)) if input.line else "",
        wrap_in_tag("synthesis", input.synthesis) if input.synthesis else "",
        render_preferences(input.preferences),
        SECTION_LENGTHS[input.length],
    )


def _render_topic(input: SectionWriterInput) -> str:
    """Render the heading with its question; a section on the whole question does not repeat it."""
    if input.topic_question == input.question:
        return "The whole question, in a single section."
    return f"{input.topic}\n{input.topic_question}"


def render(input: SectionWriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    return [
        Message(role="system", content=SYSTEM),
        Message(
            role="user",
            content=join_parts(
                mark_passages(evidence.passages),
                render_positions(input.positions, evidence.passages),
                *describe_generations(evidence.passages),
                render_brief(input, evidence.passages),
            ),
        ),
    ]


def render_positions(positions: Sequence[PositionEvidence], passages: Sequence[Passage]) -> str:
    """Render the numbers of the passages for and against each position; empty if no position has both sides."""
    numbers = {passage.chunk: n for n, passage in enumerate(passages, 1)}
    lines: list[str] = []
    for held in positions:
        sides = [
            ", ".join(str(numbers[one.passage.chunk]) for one in side if one.passage.chunk in numbers)
            for side in (held.supporting, held.contradicting)
        ]
        if all(sides):
            lines.append(f"{held.position} For it: passages {sides[0]}. Against it: passages {sides[1]}.")
    listed = render_list("Positions on which the passages disagree; the text gives both sides", lines)
    return wrap_in_tag("observation", listed) if lines else ""


def fallback(input: SectionWriterInput, evidence: Evidence) -> WrittenText:
    """Compose the section from excerpts that are relevant to its topic, with both sides of its positions."""
    brief = build_composition_request(input)
    blocks = compose(brief, evidence.passages, evidence.embed)
    return build_written_text(add_missing_sides(blocks, input.positions, evidence.passages))


def build_composition_request(input: SectionWriterInput) -> CompositionRequest:
    """Return the subject of a section that is composed without a model; shared with the rewriter."""
    return CompositionRequest(
        topic=input.topic,
        question=input.topic_question,
        other_topics=input.other_topics,
        focus=input.feedback,
        report_question=input.question,
        length=input.length,
    )


def add_missing_sides(
    blocks: Sequence[ComposedBlock], positions: Sequence[PositionEvidence], passages: Sequence[Passage]
) -> list[ComposedBlock]:
    """Append the best quote of each side of a disputed position that composed text lacks; empty text stays empty."""
    numbers = {passage.chunk: n for n, passage in enumerate(passages, 1)}
    said = {sentence.text for block in blocks for sentence in block.sentences}
    used = {sentence.passage for block in blocks for sentence in block.sentences}
    added: list[ComposedSentence] = []
    for held in positions if blocks else ():
        for side in (held.supporting, held.contradicting) if held.is_disputed else ():
            known = [one for one in side if one.passage.chunk in numbers]
            is_missing = not used.intersection(numbers[one.passage.chunk] for one in known)
            new = [one for one in known if is_missing and one.citation.quote not in said]
            added += [ComposedSentence(one.citation.quote, numbers[one.passage.chunk]) for one in new[:1]]
    return [*blocks, *([ComposedBlock("paragraph", tuple(added))] if added else [])]


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
