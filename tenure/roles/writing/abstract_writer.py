"""Write the abstract of a report in one paragraph."""

import re
from collections.abc import Sequence
from itertools import accumulate

from tenure.algorithms.text.excerpts import has_back_reference
from tenure.algorithms.text.questions import split_question
from tenure.algorithms.text.sentences import find_ubiquitous_names, remove_common_words, split_words
from tenure.contracts.evidence.passages import Claim, Draft
from tenure.contracts.messages import Message
from tenure.contracts.research.report import SectionDraft
from tenure.roles.base import EVIDENCE_RULE, Evidence, PostprocessedRole, RoleInput, mark_passages, wrap_in_tag
from tenure.roles.prompting import (
    CITING_RULE,
    WrittenBlock,
    WrittenSentence,
    WrittenText,
    add_citations,
    find_passage_numbers,
    join_parts,
    render_draft,
    render_preferences,
)

Lead = list[WrittenSentence]
"""A self-contained sentence, followed by the sentences that depend on it."""

SYSTEM = f"""You write the abstract of a finished research report: one paragraph of 80 to 150 words that answers the
question directly, gives the findings that carry the answer, and names what stays open. A reader who reads nothing else
must come away with the right answer.

Say only what the sections say, and what text inside <reasoning> concludes from the passages. {CITING_RULE}
{EVIDENCE_RULE}"""


class AbstractWriterInput(RoleInput):
    """Sections to summarise."""

    question: str
    """The question."""
    sections: tuple[SectionDraft, ...]
    """The sections."""
    reasoning: str = ""
    """The line of thought over all evidence."""
    preferences: tuple[str, ...] = ()
    """Preferences of the reader for every report."""


def render(input: AbstractWriterInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    body = "\n\n".join(
        f"{section.topic}\n{render_draft(section.draft, evidence.passages)}" for section in input.sections
    )
    thought = wrap_in_tag("reasoning", input.reasoning) if input.reasoning else ""
    user = join_parts(
        mark_passages(evidence.passages),
        wrap_in_tag("question", input.question),
        wrap_in_tag("draft", body),
        thought,
        render_preferences(input.preferences),
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: AbstractWriterInput, evidence: Evidence) -> WrittenText:
    """Select from the opening of each section the sentences nearest to the question or to a part of it.

    A section that is much less similar to the question than the best one is omitted.
    """
    found = [lead for lead in (_find_leads(section, evidence) for section in input.sections) if lead]
    sentences: list[WrittenSentence] = []
    for lead in _choose_leads(input.question, found, evidence):
        if sum(len(split_words(s.text)) for s in (*sentences, *lead)) <= MAX_WORDS:
            sentences.extend(lead)
    return WrittenText(blocks=(WrittenBlock(kind="paragraph", sentences=tuple(sentences)),) if sentences else ())


def _choose_leads(question: str, sections: Sequence[Sequence[Lead]], evidence: Evidence) -> list[Lead]:
    """Return the best lead of each section whose similarity to the question is near the overall best."""
    if not sections:
        return []
    common = find_ubiquitous_names([passage.text for passage in evidence.passages])
    asked = [remove_common_words(text, common) for text in dict.fromkeys([question, *split_question(question)])]
    leads = [lead for section in sections for lead in section]
    vectors = evidence.embed([*asked, *(" ".join(sentence.text for sentence in lead) for lead in leads)])
    alike = (vectors[len(asked) :] @ vectors[: len(asked)].T).max(axis=1)
    ends = accumulate(len(section) for section in sections)
    spans = (range(end - len(section), end) for section, end in zip(sections, ends, strict=True))
    best = [max(span, key=alike.__getitem__) for span in spans]
    return [leads[number] for number in best if alike[number] >= MIN_SHARE_OF_BEST * alike.max()]


_BACK_REFERENCE = re.compile(
    r"^(?:\S+\s+){0,8}(?:it|they|them|this|these|those)\b|^(?:\S+\s+)?(?:its|their)\b", re.IGNORECASE
)
"""Pattern of sentences that may need the sentence before them; a possessive later in a sentence mostly refers within
it.
"""


def _find_leads(section: SectionDraft, evidence: Evidence) -> list[Lead]:
    """Return the self-contained leads of a section's opening; empty for a section that is too short."""
    opening = section.draft.blocks[0].claims if section.draft.blocks else ()
    if len(section.draft.claims) < MIN_SECTION_SENTENCES:
        return []
    leads: list[list[Claim]] = []
    for claim in opening:
        if leads and (has_back_reference(claim.text) or _BACK_REFERENCE.search(claim.text)):
            leads[-1].append(claim)
        else:
            leads.append([claim])
    return [
        [WrittenSentence(text=claim.text, passages=find_passage_numbers(claim, evidence.passages)) for claim in lead]
        for lead in leads
        if not lead[-1].text.endswith(":") and all(find_passage_numbers(claim, evidence.passages) for claim in lead)
    ]


MIN_SHARE_OF_BEST = 0.6
"""Minimum similarity of a lead to the question or to a part of it, relative to the best lead."""
MAX_WORDS = 130
"""Maximum length of the fallback's abstract in words."""
MIN_SECTION_SENTENCES = 3
"""Minimum number of sentences of a section that contributes to the abstract."""


ROLE = PostprocessedRole(
    "abstract_writer",
    "main",
    AbstractWriterInput,
    WrittenText,
    render,
    fallback,
    add_citations,
    Draft,
    streamed=True,
    read_by_people=True,
)
