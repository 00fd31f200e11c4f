"""Reflect on a whole report: criticise it, and suggest considerations beyond its sources."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.claims.verification import UNCONFIRMED, is_unconfirmed
from tenure.algorithms.fallback.facets import find_facets
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.questions import format_heading as as_heading
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.text.sentences import split_words, stem_words
from tenure.algorithms.writing.tables import render_table
from tenure.contracts.evidence.passages import Block, Claim, SynthesisDraft
from tenure.contracts.messages import Message
from tenure.contracts.research.report import SectionDraft
from tenure.contracts.schema_limit import SchemaLimit
from tenure.roles.base import EVIDENCE_RULE, Evidence, PostprocessedRole, RoleInput, RoleOutput, wrap_in_tag
from tenure.roles.prompting import join_parts, render_list
from tenure.roles.research.synthesizer import render_synthesis
from tenure.roles.writing.section_reviewer import MIN_SECTION_WORDS

MAX_CRITIQUES, MAX_CRITIQUE_CHARACTERS, MAX_QUERY_CHARACTERS = 6, 1000, 300
"""Maximum number of critiques, and maximum lengths of a critique and of its query."""
MAX_CONSIDERATIONS = 3
"""Maximum number of further considerations."""

SYSTEM = f"""You reflect on a research report as a whole, before it is delivered. You are given the question, the
synthesis of the findings if there is one, the sections, and the titles of the available sources. Each sentence was
checked against its passages already; sentences marked [not confirmed] were not supported.

First, criticise, with at most {MAX_CRITIQUES} critiques. A critique either asks for a search or names an error:
- query: what to search for, if a part of the question has no answer in the report; else empty.
- error: contradiction, if two statements of the report cannot both be true; overreach, if a conclusion goes further
  than the sentences that it rests on; repetition, if two sections say the same; else none.
A critique names the section it concerns by its exact heading; leave the heading empty only to ask for a section that is
missing, and then `query` says what it is about. Quote the words that a critique is about. Without a query and without
an error there is no critique: no matters of style, and none of the critiques that were already made.

Then, separately, think beyond the sources: a framework, a connection, a next question that would help this reader, at
most {MAX_CONSIDERATIONS}. These further considerations are your own and will be marked so; write each as one or two
sentences, without citations; none is better than a weak one.

{EVIDENCE_RULE}"""


RUNNING_LOW_RULE = (
    "Most of the budget is used. Make at most one critique, and only if the report would mislead without it."
)
"""Addition to the prompt if most of the budget is used."""


class ReportReflectorInput(RoleInput):
    """Report to reflect on."""

    question: str
    """The question."""
    sections: tuple[SectionDraft, ...]
    """The sections."""
    synthesis: SynthesisDraft = SynthesisDraft()
    """Synthesis of the findings."""
    earlier_critiques: tuple[str, ...] = ()
    """Earlier critiques."""
    running_low: bool = False
    """Whether most of the run's budget is used."""


class ReportCritique(BaseModel):
    """Critique of a section or of the report."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    topic: str = Field(max_length=300)
    """Exact heading of the section concerned; empty to ask for a section that is missing."""
    critique: str = Field(min_length=1, max_length=MAX_CRITIQUE_CHARACTERS)
    """The error or the gap."""
    error: Literal["none", "contradiction", "overreach", "repetition"] = "none"
    """Error that is named; `none` for a critique that only asks for a search."""
    query: str = Field(max_length=MAX_QUERY_CHARACTERS)
    """The query for missing evidence; empty if the evidence suffices."""


class ReportReflectorOutput(RoleOutput):
    """The reflection."""

    critiques: tuple[ReportCritique, ...] = Field(max_length=MAX_CRITIQUES)
    """Critiques of the report; empty if it needs no change."""
    further_considerations: tuple[Annotated[str, SchemaLimit(1000)], ...] = Field(max_length=MAX_CONSIDERATIONS)
    """Thoughts beyond the sources."""


def render(input: ReportReflectorInput, evidence: Evidence) -> list[Message]:
    """Render the prompt; the sentences are checked already, so only the titles of the passages are shown."""
    said = render_synthesis(input.synthesis)
    titles = _list_titles(evidence.passages)
    user = join_parts(
        wrap_in_tag("evidence", render_list("Titles of the available passages", titles)) if titles else "",
        wrap_in_tag("question", input.question),
        wrap_in_tag("synthesis", said) if said else "",
        wrap_in_tag("draft", render_sections(input.sections)),
        wrap_in_tag("critiques", render_list("Critiques already made", input.earlier_critiques))
        if input.earlier_critiques
        else "",
        RUNNING_LOW_RULE if input.running_low else "",
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def _list_titles(passages: Sequence[Passage]) -> list[str]:
    """Return the titles of documents, each once, with the headings of their passages."""
    headings: dict[str, dict[str, None]] = {}
    for passage in passages:
        own = [heading for heading in passage.headings if heading.strip() not in ("", passage.title.strip())]
        headings.setdefault(passage.title, {}).update({" – ".join(own): None} if own else {})
    return [": ".join(filter(None, (title, "; ".join(known)))) for title, known in headings.items()]


def render_sections(sections: Sequence[SectionDraft]) -> str:
    """Render sections for a role that reads the whole report; unsupported sentences are marked."""
    return "\n\n".join(
        "\n".join((section.topic, *(_render_block(block) for block in section.draft.blocks))) for section in sections
    )


def _render_block(block: Block) -> str:
    if block.kind == "table":
        return render_table(block.claims, lambda cell: _mark(cell, cell.text))
    return " ".join(_mark(claim, claim.statement) for claim in block.claims)


def _mark(claim: Claim, text: str) -> str:
    return f"{text} {UNCONFIRMED}" if is_unconfirmed(claim) else text


def fallback(input: ReportReflectorInput, evidence: Evidence) -> ReportReflectorOutput:
    """Criticise short sections and words of the question that no section contains; suggest topics near the question."""
    found = [*_criticise_thin_sections(input), *_criticise_missing_words(input)]
    fresh = tuple(c for c in found if c.critique not in input.earlier_critiques)
    near = find_facets(input.question, evidence.passages, evidence.embed, 3, [s.topic for s in input.sections])
    return ReportReflectorOutput(
        critiques=fresh[: 1 if input.running_low else MAX_CRITIQUES],
        further_considerations=tuple(
            f"“{f.heading}” in “{f.source_title}” lies close to this question and was left aside; "
            "it may deserve a question of its own."
            for f in near
            if f.passages > 1 and f.heading.casefold() not in f.source_title.casefold()
        ),
    )


def _criticise_thin_sections(input: ReportReflectorInput) -> list[ReportCritique]:
    return [
        ReportCritique(
            topic=section.topic,
            critique=f"There is little on {section.topic}",
            query=shorten(f"{section.topic}: {input.question}", MAX_QUERY_CHARACTERS),
        )
        for section in input.sections
        if len(split_words(section.draft.text)) < MIN_SECTION_WORDS
    ]


def _criticise_missing_words(input: ReportReflectorInput) -> list[ReportCritique]:
    said = {stem for section in input.sections for stem in stem_words(f"{section.topic} {section.draft.text}")}
    missing = [word for word in dict.fromkeys(split_words(input.question)) if set(stem_words(word)) - said]
    if not missing or not input.sections:
        return []
    nearest = max(input.sections, key=lambda s: len(set(stem_words(s.topic)) & set(stem_words(input.question))))
    terms = ", ".join(missing)
    return [
        ReportCritique(
            topic=nearest.topic,
            critique=shorten(f"Nothing is said on these words of the question: {terms}", MAX_CRITIQUE_CHARACTERS),
            query=shorten(f"{terms} {as_heading(input.question)}", MAX_QUERY_CHARACTERS),
        )
    ]


def keep_actionable_critiques(
    input: ReportReflectorInput, output: ReportReflectorOutput, evidence: Evidence
) -> ReportReflectorOutput:
    """Return the reflection without critiques that neither ask for a search nor name an error."""
    kept = tuple(one for one in output.critiques if one.query.strip() or one.error != "none")
    return output.model_copy(update={"critiques": kept})


ROLE = PostprocessedRole(
    "report_reflector",
    "main",
    ReportReflectorInput,
    ReportReflectorOutput,
    render,
    fallback,
    keep_actionable_critiques,
    ReportReflectorOutput,
    read_by_people=True,
)
