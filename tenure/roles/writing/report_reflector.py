"""Report reflector: what the whole report lacks, and what lies beyond its sources (000 §2.2, §2.4)."""

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.fallback.facets import facets
from tenure.algorithms.text.questions import heading as as_heading
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import stems, words
from tenure.contracts.research.report import SectionDraft
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    Message,
    Role,
    RoleInput,
    RoleOutput,
    mark_passages,
    tagged,
)
from tenure.roles.prompting import as_list, joined, marked
from tenure.roles.writing.section_reviewer import THIN

SYSTEM = f"""You reflect on a research report as a whole, before it is delivered. You are given the question, the
sections and passages of the sources.

First, criticise: contradictions between sections, the same thing said twice, parts of the question that nobody
answers, conclusions that go further than the evidence, sections too thin to stand. Each critique names the section it
concerns by its exact heading; leave the heading empty only to ask for a section that is missing, and then say in
`query` what it is about. `query` says what to search for where evidence is lacking, else it is empty. No critique if
nothing matters. Do not repeat critiques that were already made.

Then, separately, think beyond the sources: a framework, a connection, a next question that would help this reader.
These further considerations are your own and will be marked so; write each as one or two sentences, without citations;
none is better than a weak one.

{EVIDENCE_RULE}"""


SCARCE_RULE = (
    "Most of the budget is used. Make one critique at the most, and only if the report would mislead without it."
)
"""What is added once little is left."""


class ReportReflectorInput(RoleInput):
    """What is to be reflected on."""

    question: str
    """The question."""
    sections: tuple[SectionDraft, ...]
    """The sections."""
    earlier: tuple[str, ...] = ()
    """Critiques made before."""
    scarce: bool = False
    """Whether most of the run's budget is used."""


MAX_CRITIQUES, MAX_CRITIQUE, MAX_QUERY = 12, 2000, 1000
"""Critiques at the most, and their characters; a question may be longer than what is made of it."""


class ReportCritique(BaseModel):
    """Something to improve."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    topic: str = Field(max_length=300)
    """Exact heading of the section concerned; empty to ask for a section that is missing."""
    critique: str = Field(min_length=1, max_length=MAX_CRITIQUE)
    """What is wrong or missing."""
    query: str = Field(max_length=MAX_QUERY)
    """What to search for; empty where the evidence suffices."""


class ReportReflectorOutput(RoleOutput):
    """The reflection."""

    critiques: tuple[ReportCritique, ...] = Field(max_length=MAX_CRITIQUES)
    """What to improve; empty if nothing matters."""
    further_considerations: tuple[str, ...] = Field(max_length=5)
    """Thoughts beyond the sources."""


def render(input: ReportReflectorInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    body = "\n\n".join(f"{section.topic}\n{marked(section.draft, evidence.passages)}" for section in input.sections)
    user = joined(
        mark_passages(evidence.passages),
        tagged("question", input.question),
        tagged("draft", body),
        tagged("critiques", as_list("Critiques already made", input.earlier)) if input.earlier else "",
        SCARCE_RULE if input.scarce else "",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: ReportReflectorInput, evidence: Evidence) -> ReportReflectorOutput:
    """Look for thin sections and for words of the question that no section says; point to what lies next to it."""
    found = [*_thin(input), *_unsaid(input)]
    fresh = tuple(c for c in found if c.critique not in input.earlier)
    near = facets(input.question, evidence.passages, evidence.vectors, 3, [s.topic for s in input.sections])
    return ReportReflectorOutput(
        critiques=fresh[: 1 if input.scarce else MAX_CRITIQUES],
        further_considerations=tuple(
            f"“{f.heading}” in “{f.source_title}” lies close to this question and was left aside; "
            "it may deserve a question of its own."
            for f in near
            if f.passages > 1 and f.heading != f.source_title
        ),
    )


def _thin(input: ReportReflectorInput) -> list[ReportCritique]:
    return [
        ReportCritique(
            topic=section.topic,
            critique=f"There is little on {section.topic}",
            query=shorten(f"{section.topic}: {input.question}", MAX_QUERY),
        )
        for section in input.sections
        if len(words(section.draft.text)) < THIN
    ]


def _unsaid(input: ReportReflectorInput) -> list[ReportCritique]:
    said = {stem for section in input.sections for stem in stems(f"{section.topic} {section.draft.text}")}
    missing = [word for word in dict.fromkeys(words(input.question)) if set(stems(word)) - said]
    if not missing or not input.sections:
        return []
    nearest = max(input.sections, key=lambda s: len(set(stems(s.topic)) & set(stems(input.question))))
    terms = ", ".join(missing)
    return [
        ReportCritique(
            topic=nearest.topic,
            critique=shorten(f"Nothing is said on these words of the question: {terms}", MAX_CRITIQUE),
            query=shorten(f"{terms} {as_heading(input.question)}", MAX_QUERY),
        )
    ]


ROLE = Role("report_reflector", "main", ReportReflectorOutput, render, offline, read_by_people=True)
