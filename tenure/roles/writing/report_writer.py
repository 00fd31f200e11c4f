"""Write a whole report from the dossier in one answer, as Markdown with citation marks."""

from collections.abc import Mapping, Sequence

from tenure.algorithms.control.feedback import match_headings
from tenure.algorithms.text.generations import describe_generations
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import format_heading
from tenure.algorithms.writing.brief import BriefPart, build_brief
from tenure.contracts.base import ChunkId
from tenure.contracts.choices import Complexity, ReportLength
from tenure.contracts.evidence.disputes import PositionEvidence, SidedPassage
from tenure.contracts.evidence.passages import Block, Draft
from tenure.contracts.evidence.reasoning import Reasoning
from tenure.contracts.messages import Message
from tenure.contracts.research.report import ReportPart, ReportPartKind, ReportText, Topic
from tenure.contracts.run.run import Feedback
from tenure.roles.base import Evidence, PostprocessedRole, RoleInput, neutralise, wrap_in_tag
from tenure.roles.dossier_prompting import SYSTEM as DOSSIER_SYSTEM
from tenure.roles.dossier_prompting import build_messages, render_requests
from tenure.roles.prompting import (
    NOT_STATED,
    cite_block,
    render_list,
    render_preferences,
    render_reasoning,
)
from tenure.roles.report_markdown import (
    CLOSING_HEADING,
    GAPS_HEADING,
    MAX_HEADING_CHARACTERS,
    WrittenPart,
    WrittenReport,
    extract_preview,
    normalize_heading,
    parse_report,
)

SYSTEM = DOSSIER_SYSTEM
"""System text of every role that reads a dossier."""

MAX_WORDS: Mapping[Complexity, Mapping[ReportLength, int]] = {
    "simple": {"short": 120, "standard": 300, "long": 700},
    "moderate": {"short": 700, "standard": 1800, "long": 3200},
    "complex": {"short": 800, "standard": 2000, "long": 4000},
}
"""Maximum number of words of a report by effort and length. Blind readers of two reports on one question preferred that
of 1,950 words to one of 2,900 that said the same."""

ANSWER_RULES = """If the answer follows over several facts, each of which names the next one, its end comes first, and
the next sentence is the whole chain in one line with its marks: “A → B → C [2, 5].”
If the question weighs a position (whether to do something, whether it is better, safe, worth it or true), all arguments
for it and all against it are given under two sub-headings or list items that begin with “For” and “Against”, before
anything is recommended; a side for which the passages have nothing is named as such. A choice between options is no
position: they are compared."""
"""Rules of every report for the form of an answer."""

DIRECT_TASK = f"""Write a direct answer to the question, as Markdown:

# Title of at most fourteen words
Answer: the answer in at most twelve words, in words of the sentences below, if the question has such an answer: a name,
number, date, place, list, Yes or No. Else leave the line out.

The answer in one to five sentences: what decides it first, then the conditions and limits that change it.
{ANSWER_RULES}

## {{heading}}
Only if a reader needs more than the answer: steps, a list, an example or code from the passages. Nothing twice.

## {GAPS_HEADING}
Only if the passages leave open something that the question asks for: one specific thing to a list item, two things in
two items, at most four, each ended by a search: the sentence that would state it, as its source would write it:
“- … [?] (search: sentence)”."""

REPORT_TASK = f"""Write the report, as Markdown:

# Title of at most fourteen words that says what the report finds
Answer: the answer in at most twelve words, in words of the sentences below, if the question has such an answer: a name,
number, date, place, list, Yes or No. Else leave the line out.

The answer in three to five sentences that decide: a reader who reads nothing else comes away with the right answer, its
conditions, and no more certainty than the passages have. If an open point would change the answer, a sentence says so.
{ANSWER_RULES}

If the question compares or chooses, one table of whole options (rows) by the requirements of the question (columns)
and, if it chooses, a verdict as the last column; a few words and a mark in each cell, also in one whose number follows
from others, “{NOT_STATED}” where the passages say nothing. A requirement on which they speak of fewer than half of the
options is no column but a sentence; a comparison of two things in one or two values needs no table.

## Heading of each part of the outline, exactly as in <outline>, in its order
The answer to the part's question first, then what it rests on, how it works, what it demands and its limits. Choose the
form by the content: paragraphs of at most 90 words; lists of short items; a table where several things are compared by
the same criteria; `### sub-headings` only in long sections; code in a fence with its marks after the language, as
“```yaml [3, 7]”. A rule that several things share is stated once. If passages disagree, say so and cite both sides;
if they differ by version or date, name it, and separate the current state from earlier ones. A passage marked as
retired describes what its authors have given up: a sentence that rests on it says so.
If the question asks what to do, one complete configuration, example or procedure.

## {CLOSING_HEADING}
What follows for the reader and no single source says: recommendations by situation (if this is your case, choose that,
because of these facts), each marked as an inference, at most six. Left out if the question calls for no decision.

## {GAPS_HEADING}
What the passages leave open and a reader who has to decide needs to know: one specific thing to a list item, two things
in two items, the most important first, at most six, each ended by a search: the sentence that would state it, as its
source would write it, with words that the passages lack: “- … [?] (search: sentence)”. No item asks for “further” or
“other” things, which no search can settle. Apart from cells, an empty side and what would change the answer, an absence
is stated nowhere else; “first”, “oldest”, “only” or “no other” is said of the sources only if a passage says so. Left
out if nothing is.

Plain, exact sentences for an expert who has to decide; every statement once, in the part to which it belongs; no
introduction of the report or its sections, no summary at the end."""

ADDITION_TASK = """The report has these further parts. Write only their sections, as Markdown: `## ` with the heading
as it is in <outline>, then the answer to its question, by the rules for a section of the report."""


PART_ORDER: tuple[ReportPartKind, ...] = ("answer", "comparison", "section", "closing", "gaps")
"""Reading order of the parts of a report."""


class PartEvidence(RoleInput):
    """A part of the question with its passages."""

    topic: Topic
    """Heading and question."""
    passages: tuple[int, ...] = ()
    """Numbers of its passages in the dossier, best first."""


class ReportWriterInput(RoleInput):
    """Report to write."""

    question: str
    """The question."""
    parts: tuple[PartEvidence, ...]
    """Parts of the question: the sections."""
    additions: tuple[str, ...] = ()
    """Headings of the only sections to write, which a person has added to a written report; empty for the report."""
    effort: Complexity = "moderate"
    """Effort of the run."""
    feedback: tuple[str, ...] = ()
    """Feedback of people."""
    line: Reasoning | None = None
    """Line of reasoning over the dossier; None for none."""
    unplanned: tuple[str, ...] = ()
    """Parts of the question that the outline lacks."""
    positions: tuple[PositionEvidence, ...] = ()
    """Evidence for and against positions."""
    advice: tuple[str, ...] = ()
    """Procedures that people have written or earlier runs have learned."""
    preferences: tuple[str, ...] = ()
    """Preferences of the reader for every report."""
    length: ReportLength = "standard"
    """Length of the report."""
    omitted: int = 0
    """Number of passages that were found and did not fit into the dossier."""

    @property
    def topics(self) -> tuple[Topic, ...]:
        """Headings and questions of the parts."""
        return tuple(part.topic for part in self.parts)


def render(input: ReportWriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    is_direct = input.effort == "simple" and len(input.parts) == 1
    task = DIRECT_TASK.format(heading=neutralise(input.parts[0].topic.heading)) if is_direct else REPORT_TASK
    if input.additions:
        task = "\n".join((ADDITION_TASK, *(f"## {neutralise(heading)}" for heading in input.additions)))
    words = MAX_WORDS[input.effort][input.length]
    return build_messages(
        input.question,
        input.topics,
        evidence,
        "report_writer",
        *describe_generations(evidence.passages),
        render_unplanned(input.unplanned),
        render_positions(input.positions, evidence.passages),
        wrap_in_tag("reasoning", render_reasoning(input.line, evidence.passages)) if input.line else "",
        wrap_in_tag(
            "feedback", render_list("Feedback of people, to be followed as far as the passages allow", input.feedback)
        )
        if input.feedback
        else "",
        wrap_in_tag("memory", render_list("Hints of people and of earlier reports on how to proceed", input.advice))
        if input.advice
        else "",
        render_preferences(input.preferences),
        f"{input.omitted} further passages were found and are not shown: the sources may state what these lack."
        if input.omitted
        else "",
        task,
        f"Length: at most {words:,} words, marks and code not counted; less where the passages say less. Nothing is "
        "written to fill it.",
    )


def render_unplanned(parts: Sequence[str]) -> str:
    """Render the parts of the question that the outline lacks; empty for none."""
    title = (
        "Parts of the question without a section: answered where they fit best if passages say something on them, "
        f"else named under {GAPS_HEADING}"
    )
    return render_requests(title, parts)


def render_positions(positions: Sequence[PositionEvidence], passages: Sequence[Passage]) -> str:
    """Render the numbers of the passages for and against each position; empty if no passage takes a side."""
    numbers = {passage.chunk: n for n, passage in enumerate(passages, 1)}
    lines = [
        f"{position.position} For it: {_render_side(position.supporting, numbers)}. "
        f"Against it: {_render_side(position.contradicting, numbers)}."
        for position in positions
        if position.supporting or position.contradicting
    ]
    listed = render_list("Positions that were searched from both sides; the report gives both", lines)
    return wrap_in_tag("observation", listed) if lines else ""


def _render_side(side: Sequence[SidedPassage], numbers: Mapping[ChunkId, int]) -> str:
    passages = [str(numbers[sided.passage.chunk]) for sided in side if sided.passage.chunk in numbers]
    if passages:
        return f"passages {', '.join(passages)}"
    return "passages that did not fit" if side else "a search has found none"


def fallback(input: ReportWriterInput, evidence: Evidence) -> WrittenReport:
    """Show the excerpts that answer each part best; nothing if no passage concerns any of them."""
    parts = [part for part in input.parts if not input.additions or part.topic.heading in input.additions]
    briefs = build_brief(
        [
            BriefPart(part.topic.question, _select_passages(part, evidence), _select_focus(part, input))
            for part in parts
        ],
        evidence.embed,
        input.length,
    )
    is_only = len(input.parts) == 1
    if not any(brief.excerpts for brief in briefs):
        return WrittenReport()
    return WrittenReport(
        title=format_heading(input.question),
        parts=tuple(
            WrittenPart(kind="section", heading=part.topic.heading, brief=brief.text if is_only else brief.blocks)
            for part, brief in zip(parts, briefs, strict=True)
        ),
    )


def _select_passages(part: PartEvidence, evidence: Evidence) -> list[Passage]:
    """Return the passages of a part, best first, as far as they are still stored."""
    return [evidence.passages[n - 1] for n in part.passages if n <= len(evidence.passages)]


def _select_focus(part: PartEvidence, input: ReportWriterInput) -> tuple[str, ...]:
    """Return the feedback that concerns a part."""
    headings = [other.topic.heading for other in input.parts]
    return tuple(text for text in input.feedback if part.topic.heading in match_headings(Feedback(text=text), headings))


def add_citations(input: ReportWriterInput, report: WrittenReport, evidence: Evidence) -> ReportText:
    """Return the text of a report with verbatim citations, its sections by the outline.

    A section whose heading is no topic of the outline continues the part before it.
    """
    parts = [
        ReportPart(kind=part.kind, heading=part.heading, draft=_cite_part(part, evidence.passages, input.question))
        for part in report.parts
    ]
    return ReportText(
        title=report.title,
        short_answer=report.short_answer,
        parts=tuple(part for part in align_sections(parts, input.topics) if part.draft.claims),
    )


def _cite_part(part: WrittenPart, passages: Sequence[Passage], question: str) -> Draft:
    if part.brief:
        return Draft(blocks=part.brief)
    blocks = [block for draft in part.blocks for block in cite_block(draft, passages, question) if block.claims]
    if part.kind == "closing":
        blocks = [_mark_inferences(block) for block in blocks]
    return Draft(blocks=tuple(blocks))


def _mark_inferences(block: Block) -> Block:
    """Return a block of recommendations, which are inferences even if their writer has not marked them."""
    claims = tuple(
        claim.model_copy(update={"kind": "inference"})
        if claim.kind == "fact" and claim.status != "supported"
        else claim
        for claim in block.claims
    )
    return block.model_copy(update={"claims": claims})


def align_sections(parts: Sequence[ReportPart], topics: Sequence[Topic]) -> list[ReportPart]:
    """Return parts in reading order whose sections are topics; another section is a sub-heading of the part before it.

    A sub-heading that is a topic begins its section: small models choose other levels of headings.
    """
    names = {normalize_heading(topic.heading): topic.heading for topic in topics}
    merged: dict[tuple[ReportPartKind, str], list[Block]] = {}
    current: tuple[ReportPartKind, str] = ("answer", "")
    for part in parts:
        if part.kind != "section":
            current = (part.kind, "")
        elif (name := names.get(normalize_heading(part.heading))) is not None:
            current = ("section", name)
        elif current[0] not in ("answer", "section") and topics:
            current = ("section", topics[-1].heading)
        is_unknown = part.kind == "section" and current[1] != names.get(normalize_heading(part.heading))
        for block in part.draft.blocks:
            if (name := names.get(normalize_heading(block.heading))) is not None:
                current, block = ("section", name), block.model_copy(update={"heading": ""})
            elif is_unknown and not block.heading:
                block = block.model_copy(update={"heading": part.heading[:MAX_HEADING_CHARACTERS]})
            merged.setdefault(current, []).append(block)
    ranks = {topic.heading: n for n, topic in enumerate(topics)}
    ordered = sorted(merged, key=lambda key: (PART_ORDER.index(key[0]), ranks.get(key[1], 0)))
    return [ReportPart(kind=key[0], heading=key[1], draft=Draft(blocks=tuple(merged[key]))) for key in ordered]


ROLE = PostprocessedRole(
    "report_writer",
    "main",
    ReportWriterInput,
    WrittenReport,
    render,
    fallback,
    add_citations,
    ReportText,
    parse_text=parse_report,
    preview=extract_preview,
    streamed=True,
    read_by_people=True,
)
