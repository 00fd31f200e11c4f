"""Abstract writer: the report in a paragraph (document 002 §6.3)."""

from tenure.algorithms.composition import Wish, compose
from tenure.algorithms.text import fingerprint
from tenure.contracts.research import SectionDraft
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, mark_passages, tagged
from tenure.roles.writing import CITING_RULE, WrittenText, joined, marked, written

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
    """Answer with the excerpts nearest to the question that no section has used, as one paragraph."""
    used = {fingerprint(claim.text) for section in input.sections for claim in section.draft.claims}
    used |= {fingerprint(c.quote) for s in input.sections for claim in s.draft.claims for c in claim.citations}
    topics = ", ".join(section.topic for section in input.sections)
    wish = Wish(input.question, f"{input.question} {topics}")
    text = written(compose(wish, evidence.passages, evidence.vectors, target_words=70, max_excerpts=3, said=used))
    prose = [block for block in text.blocks if block.kind == "paragraph"]
    if len(prose) < 2:
        return WrittenText(blocks=tuple(prose))
    sentences = tuple(sentence for block in prose for sentence in block.sentences)
    return WrittenText(blocks=(prose[0].model_copy(update={"sentences": sentences}),))


ROLE = Role("abstract_writer", "main", WrittenText, render, offline)
