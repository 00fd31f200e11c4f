"""Abstract writer: the report in a paragraph (document 002 §6.3)."""

import re
from collections.abc import Sequence
from itertools import accumulate

from tenure.algorithms.text.excerpts import points_back
from tenure.algorithms.text.questions import parts
from tenure.algorithms.text.sentences import telling, ubiquitous, words
from tenure.contracts.evidence.passages import Claim
from tenure.contracts.research.report import SectionDraft
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, mark_passages, tagged
from tenure.roles.prompting import CITING_RULE, WrittenBlock, WrittenSentence, WrittenText, joined, marked, numbers

Lead = list[WrittenSentence]
"""A sentence that can stand alone, with those that lean on it."""

SYSTEM = f"""You write the abstract of a finished research report: one paragraph of 80 to 150 words that answers the
question directly, gives the findings that carry the answer, and names what stays open. A reader who reads nothing else
must come away with the right answer.

Say only what the sections say, and what text inside <reasoning> concludes from the passages. {CITING_RULE}
{EVIDENCE_RULE}"""


class AbstractWriterInput(RoleInput):
    """What is to be summed up."""

    question: str
    """The question."""
    sections: tuple[SectionDraft, ...]
    """The sections."""
    reasoning: str = ""
    """The line of thought that was drawn from everything found."""


def render(input: AbstractWriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    body = "\n\n".join(f"{section.topic}\n{marked(section.draft, evidence.passages)}" for section in input.sections)
    thought = tagged("reasoning", input.reasoning) if input.reasoning else ""
    user = joined(mark_passages(evidence.passages), tagged("question", input.question), tagged("draft", body), thought)
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: AbstractWriterInput, evidence: Evidence) -> WrittenText:
    """Take from each section what of its opening is nearest to the question or a part of it; it then stands here alone.

    A section that is much further from all of them than the nearest one is left out.
    """
    found = [lead for lead in (_leads(section, evidence) for section in input.sections) if lead]
    sentences: list[WrittenSentence] = []
    for lead in _telling(input.question, found, evidence):
        if sum(len(words(s.text)) for s in (*sentences, *lead)) <= MAX_WORDS:
            sentences.extend(lead)
    return WrittenText(blocks=(WrittenBlock(kind="paragraph", sentences=tuple(sentences)),) if sentences else ())


def _telling(question: str, sections: Sequence[Sequence[Lead]], evidence: Evidence) -> list[Lead]:
    """Return the best lead of each section that is not much further from what is asked than the best of all."""
    if not sections:
        return []
    common = ubiquitous([passage.text for passage in evidence.passages])
    asked = [telling(text, common) for text in dict.fromkeys([question, *parts(question)])]
    leads = [lead for section in sections for lead in section]
    vectors = evidence.vectors([*asked, *(" ".join(sentence.text for sentence in lead) for lead in leads)])
    alike = (vectors[len(asked) :] @ vectors[: len(asked)].T).max(axis=1)
    ends = accumulate(len(section) for section in sections)
    spans = (range(end - len(section), end) for section, end in zip(sections, ends, strict=True))
    best = [max(span, key=alike.__getitem__) for span in spans]
    return [leads[number] for number in best if alike[number] >= NEAR_BEST * alike.max()]


_POINTS = re.compile(r"^(?:\S+\s+){0,8}(?:it|they|them|this|these|those)\b|^(?:\S+\s+)?(?:its|their)\b", re.IGNORECASE)
"""A sentence that may need the one before it, once that stands elsewhere; what is owned later is mostly named in it."""


def _leads(section: SectionDraft, evidence: Evidence) -> list[Lead]:
    """Return what of a section's opening can stand alone; nothing of a section too short to give it away."""
    opening = section.draft.blocks[0].claims if section.draft.blocks else ()
    if len(section.draft.claims) < LEAST_LEFT:
        return []
    leads: list[list[Claim]] = []
    for claim in opening:
        if leads and (points_back(claim.text) or _POINTS.search(claim.text)):
            leads[-1].append(claim)
        else:
            leads.append([claim])
    return [
        [WrittenSentence(text=claim.text, passages=numbers(claim, evidence.passages)) for claim in lead]
        for lead in leads
        if not lead[-1].text.endswith(":") and all(numbers(claim, evidence.passages) for claim in lead)
    ]


NEAR_BEST = 0.6
"""Share of the nearest lead's likeness to the question, or to a part of it, that another needs."""
MAX_WORDS = 130
"""Words of the twin's abstract at the most."""
LEAST_LEFT = 3
"""Sentences a section must have before it gives its first one to the abstract."""


ROLE = Role("abstract_writer", "main", WrittenText, render, offline, streamed=True, read_by_people=True)
