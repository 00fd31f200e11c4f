"""Write the abstract of a report in one paragraph."""

import re

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.claims.citations import MAX_CITATIONS
from tenure.algorithms.control.length import ABSTRACT_SENTENCES, scale_words
from tenure.algorithms.reasoning.answer_scoring import score_answers
from tenure.algorithms.reasoning.short_answers import find_short_answer
from tenure.algorithms.retrieval.decomposition import decompose_question
from tenure.algorithms.text.excerpts import has_back_reference
from tenure.algorithms.text.sentences import split_words, stem_words
from tenure.contracts.evidence.passages import AbstractDraft, Block, Claim, Draft, PointAnswer
from tenure.contracts.evidence.reasoning import Reasoning
from tenure.contracts.messages import Message
from tenure.contracts.research.report import SectionDraft
from tenure.contracts.run.limit_fields import ReportLength
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    PostprocessedRole,
    RoleInput,
    RoleOutput,
    mark_passages,
    neutralise,
    wrap_in_tag,
)
from tenure.roles.prompting import (
    CITING_RULE,
    FORM_RULE,
    KIND_RULE,
    WrittenSentence,
    cite_sentence,
    find_passage_numbers,
    join_parts,
    render_draft,
    render_preferences,
    render_reasoning,
)

MAX_SHORT_ANSWER_CHARACTERS = 200
"""Maximum characters of the short answer."""
MAX_SHORT_ANSWER_WORDS = 12
"""Maximum words of the short answer."""
MAX_SENTENCES = max(most for _, most in ABSTRACT_SENTENCES.values())
"""Maximum sentences of an abstract of any length."""
MAX_OPEN_POINTS = 14
"""Maximum number of open points that an answer may name."""

Lead = list[WrittenSentence]
"""A self-contained sentence, followed by the sentences that depend on it."""

SYSTEM = f"""You write the abstract of a finished research report, with which the report opens. The first sentence
answers the question directly. Then come the findings that decide it and, if the answer depends on the reader's
situation, each answer with its situation; last, one `gap`, if something important stays open. A reader who reads
nothing else must come away with the right answer, and with no more certainty than the sections have.

Give the short answer to the question as well, in at most {MAX_SHORT_ANSWER_WORDS} words that the abstract contains: the
name, number, date, place or list that it asks for, or Yes or No with the reason in the first sentence of the abstract.
Leave it empty if the question asks for an explanation, or if the sections do not answer it.

Text inside <open_points> was written before the sections: gaps, and empty cells of the report's comparison. Passages,
if there are any, are what a search for the gaps has found since. The report must not call open what it says itself or
what its sources say:
- closed_points: numbers of the gaps that a section answers.
- answers: for a gap that no section answers but a passage does, at least in part, one sentence with what is known and
  what stays open, and the number of the section where it belongs; for an empty cell, its text in a few words, if a
  section or a passage states it. Points without an answer are left out.

Say only what the sections say, in `answers` what the passages say as well, and what text inside <reasoning> concludes
from the passages. Their sentences end with
the numbers of their passages in brackets, and yours name those of the sentences they rest on. {CITING_RULE}
{KIND_RULE}
{FORM_RULE}
{EVIDENCE_RULE}"""


class AbstractWriterInput(RoleInput):
    """Sections to summarise."""

    question: str
    """The question."""
    sections: tuple[SectionDraft, ...]
    """The sections."""
    open_points: Draft = Draft()
    """Gaps of the synthesis, which was written before the sections, and empty cells of its comparison."""
    found_passages: int = 0
    """Number of the last passages, which searches for the gaps have found."""
    line: Reasoning | None = None
    """The line of thought over all evidence."""
    preferences: tuple[str, ...] = ()
    """Preferences of the reader for every report."""
    length: ReportLength = "standard"
    """Length of the report."""


class WrittenAnswer(BaseModel):
    """Answer to an open point."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    point: int
    """Number of the open point."""
    section: int = 0
    """Number of the section where the sentence belongs; 0 for a cell."""
    text: str = Field(min_length=1, max_length=1000)
    """The sentence without citation marks; a few words in a cell."""
    passages: tuple[int, ...] = Field(max_length=MAX_CITATIONS)
    """Numbers of the passages it rests on."""


class AbstractWriterOutput(RoleOutput):
    """The abstract with its short answer."""

    sentences: tuple[WrittenSentence, ...] = Field(max_length=MAX_SENTENCES)
    """The abstract, sentence by sentence; none if the sections say nothing."""
    short_answer: str = Field(default="", max_length=MAX_SHORT_ANSWER_CHARACTERS)
    """The answer in a few words; empty if there is none."""
    closed_points: tuple[int, ...] = Field(default=(), max_length=MAX_OPEN_POINTS)
    """Numbers of the gaps that a section answers, from 1."""
    answers: tuple[WrittenAnswer, ...] = Field(default=(), max_length=MAX_OPEN_POINTS)
    """Answers to gaps that no section answers, and texts of empty cells; empty for none."""


def render(input: AbstractWriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt; the sections were checked against their passages, whose text is not repeated."""
    body = "\n\n".join(
        f"{number}. {section.topic}\n{render_draft(section.draft, evidence.passages)}"
        for number, section in enumerate(input.sections, 1)
    )
    points = [f"{number}. {_describe_point(claim)}" for number, claim in enumerate(input.open_points.claims, 1)]
    found = mark_passages(evidence.passages, len(evidence.passages) - input.found_passages)
    thought = wrap_in_tag("reasoning", render_reasoning(input.line, evidence.passages)) if input.line else ""
    user = join_parts(
        found,
        wrap_in_tag("question", input.question),
        wrap_in_tag("draft", body),
        wrap_in_tag("open_points", "\n".join(points)) if points else "",
        thought,
        render_preferences(input.preferences),
        "Length: {} to {} sentences.".format(*ABSTRACT_SENTENCES[input.length]),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def _describe_point(claim: Claim) -> str:
    """Return a gap, or the place of an empty cell."""
    place = " – ".join(filter(None, (claim.label, claim.column)))
    return neutralise(f"Empty cell: {place}" if place else claim.text)


def fallback(input: AbstractWriterInput, evidence: Evidence) -> AbstractWriterOutput:
    """Select from each section the sentences that answer its part of the question best, the short answer's first."""
    written = [section for section in input.sections if len(section.draft.claims) >= MIN_SECTION_SENTENCES]
    max_words = scale_words(MAX_WORDS, input.length) // max(1, len(written))
    leads = [_select_leads(section, input.question, evidence, max_words) for section in written]
    chosen = [lead for of_section in leads for lead in of_section]
    stated = [(_get_title(lead, evidence), sentence.text) for lead in chosen for sentence in lead]
    found = find_short_answer(input.question, stated)
    if found:
        chosen.sort(key=lambda lead: all(sentence.text != stated[found.sentence][1] for sentence in lead))
    sentences: list[WrittenSentence] = []
    for lead in chosen:
        sentences += lead if len(sentences) + len(lead) <= MAX_SENTENCES else []
    return AbstractWriterOutput(
        sentences=tuple(sentences),
        short_answer=found.text if found else "",
    )


def _get_title(lead: Lead, evidence: Evidence) -> str:
    """Return the title of the first source of a lead."""
    return evidence.passages[lead[0].passages[0] - 1].title


def _select_leads(section: SectionDraft, question: str, evidence: Evidence, max_words: int) -> list[Lead]:
    """Return the leads of a section that answer the question best, best first; never the whole section."""
    leads = _find_leads(section, evidence)
    if not leads:
        return []
    parts = [part.question for part in decompose_question(question)]
    asked = tuple(dict.fromkeys([max(parts, key=lambda part: _count_shared_words(part, section.topic)), question]))
    units = [(_get_title(lead, evidence), [sentence.text for sentence in lead]) for lead in leads]
    scores = score_answers(asked, units, frozenset(stem_words(asked[0])), evidence.embed)
    left = len(section.draft.claims)
    chosen: list[int] = []
    words = 0
    for number in sorted(range(len(leads)), key=lambda n: -scores[n]):
        length = sum(len(split_words(sentence.text)) for sentence in leads[number])
        is_good = scores[number] >= MIN_SHARE_OF_BEST * scores.max() > 0
        if is_good and words + length <= max_words and len(leads[number]) < left:
            chosen.append(number)
            words += length
            left -= len(leads[number])
    return [leads[number] for number in sorted(chosen, key=lambda n: -scores[n])]


def _count_shared_words(part: str, topic: str) -> int:
    return len(set(stem_words(part)) & set(stem_words(topic)))


_BACK_REFERENCE = re.compile(
    r"^(?:\S+\s+){0,8}(?:it|they|them|this|these|those)\b|^(?:\S+\s+)?(?:its|their)\b", re.IGNORECASE
)
"""Pattern of sentences that may need the sentence before them; a possessive later in a sentence mostly refers within
it.
"""


def _find_leads(section: SectionDraft, evidence: Evidence) -> list[Lead]:
    """Return the self-contained groups of sentences in the paragraphs of a section."""
    leads: list[list[Claim]] = []
    for block in section.draft.blocks:
        if block.kind != "paragraph":
            continue
        for number, claim in enumerate(block.claims):
            if number and (has_back_reference(claim.text) or _BACK_REFERENCE.search(claim.text)):
                leads[-1].append(claim)
            else:
                leads.append([claim])
    return [
        [WrittenSentence(text=claim.text, passages=find_passage_numbers(claim, evidence.passages)) for claim in lead]
        for lead in leads
        if not lead[-1].text.endswith(":") and all(find_passage_numbers(claim, evidence.passages) for claim in lead)
    ]


MIN_SHARE_OF_BEST = 0.5
"""Minimum score of a lead, relative to the best one of its section."""
MAX_WORDS = 130
"""Maximum length of the fallback's abstract in words."""
MIN_SECTION_SENTENCES = 2
"""Minimum number of sentences of a section that contributes to the abstract."""


def build_abstract(input: AbstractWriterInput, output: AbstractWriterOutput, evidence: Evidence) -> AbstractDraft:
    """Return the abstract with verbatim citations of all passages it names, the short answer, and answered points."""
    claims = tuple(cite_sentence(sentence, evidence.passages) for sentence in output.sentences)
    blocks = (Block(claims=claims),) if claims else ()
    points = range(1, len(input.open_points.claims) + 1)
    answers = {answer.point: _cite_answer(answer, evidence) for answer in reversed(output.answers)}
    return AbstractDraft(
        blocks=blocks,
        short_answer=" ".join(output.short_answer.split()),
        closed_points=tuple(sorted({number for number in output.closed_points if number in points})),
        answers=tuple(answers[point] for point in points if point in answers and answers[point].claim.citations),
    )


def _cite_answer(answer: WrittenAnswer, evidence: Evidence) -> PointAnswer:
    sentence = WrittenSentence(text=answer.text, passages=answer.passages)
    return PointAnswer(
        point=max(1, answer.point), section=answer.section, claim=cite_sentence(sentence, evidence.passages)
    )


ROLE = PostprocessedRole(
    "abstract_writer",
    "main",
    AbstractWriterInput,
    AbstractWriterOutput,
    render,
    fallback,
    build_abstract,
    AbstractDraft,
    streamed=True,
    read_by_people=True,
)
