"""Abstract writer: the report in a paragraph (document 002 §6.3)."""

import re
from itertools import takewhile

from tenure.algorithms.excerpts import points_back
from tenure.algorithms.question import parts
from tenure.algorithms.text import telling, ubiquitous, words
from tenure.contracts.research import SectionDraft
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, mark_passages, tagged
from tenure.roles.writing import CITING_RULE, WrittenBlock, WrittenSentence, WrittenText, joined, marked, numbers

SYSTEM = f"""You write the abstract of a finished research report: one paragraph of 80 to 150 words that answers the
question directly, gives the findings that carry the answer, and names what stays open. A reader who reads nothing else
must come away with the right answer.

Say only what the sections say. {CITING_RULE} {EVIDENCE_RULE}"""


class AbstractWriterInput(RoleInput):
    """What is to be summed up."""

    question: str
    """The question."""
    sections: tuple[SectionDraft, ...]
    """The sections."""


def render(input: AbstractWriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    body = "\n\n".join(f"{section.topic}\n{marked(section.draft, evidence.passages)}" for section in input.sections)
    user = joined(mark_passages(evidence.passages), tagged("question", input.question), tagged("draft", body))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: AbstractWriterInput, evidence: Evidence) -> WrittenText:
    """Lead with what the sections lead with, as far as it is about the question; it then stands here alone."""
    sentences: list[WrittenSentence] = []
    leads = [lead for lead in (_lead(section, evidence) for section in input.sections) if lead]
    for found in _telling(input.question, leads, evidence):
        if sum(len(words(s.text)) for s in (*sentences, *found)) <= MAX_WORDS:
            sentences.extend(found)
    return WrittenText(blocks=(WrittenBlock(kind="paragraph", sentences=tuple(sentences)),) if sentences else ())


def _telling(question: str, leads: list[list[WrittenSentence]], evidence: Evidence) -> list[list[WrittenSentence]]:
    """Return the leads that are not much further than the nearest one from the question, or from a part of it."""
    if not leads:
        return []
    common = ubiquitous([passage.text for passage in evidence.passages])
    asked = [telling(text, common) for text in dict.fromkeys([question, *parts(question)])]
    vectors = evidence.vectors([*asked, *(" ".join(sentence.text for sentence in lead) for lead in leads)])
    near = (vectors[len(asked) :] @ vectors[: len(asked)].T).max(axis=1)
    return [lead for lead, likeness in zip(leads, near, strict=True) if likeness >= NEAR_BEST * near.max()]


_POINTS = re.compile(r"^(?:\S+\s+){0,8}(?:it|they|them|this|these|those|its|their)\b", re.IGNORECASE)
"""A sentence that may need the one before it, once that stands elsewhere."""


def _lead(section: SectionDraft, evidence: Evidence) -> list[WrittenSentence]:
    """Return a section's opening with what leans on it; nothing of a section too short to give it away."""
    opening = section.draft.blocks[0].claims if section.draft.blocks else ()
    if len(section.draft.claims) < LEAST_LEFT or not opening or opening[0].text.endswith(":"):
        return []
    leaning = takewhile(lambda claim: points_back(claim.text) or _POINTS.search(claim.text), opening[1:])
    return [
        WrittenSentence(text=claim.text, passages=numbers(claim, evidence.passages))
        for claim in (opening[0], *leaning)
        if numbers(claim, evidence.passages)
    ]


NEAR_BEST = 0.6
"""Share of the nearest lead's likeness to the question, or to a part of it, that another needs."""
MAX_WORDS = 130
"""Words of the twin's abstract at the most."""
LEAST_LEFT = 4
"""Sentences a section must have before it gives its first one to the abstract."""


ROLE = Role("abstract_writer", "main", WrittenText, render, offline, streamed=True, read_by_people=True)
