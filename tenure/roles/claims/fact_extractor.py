"""Fact extractor: single statements out of passages, word for word (document 003, tool ExtractFacts)."""

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.claims.citations import cite
from tenure.algorithms.text.details import unsourced
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.writing.facts import facts
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.tools import FactKind
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.prompting import joined

MOST: Final = 20
"""Facts at the most."""

SYSTEM = f"""You take single facts out of numbered passages, for somebody who will work on with them.

A fact is one sentence of a passage that states one thing and is understood without the sentences around it. Copy it
word for word; where it begins with "it", "this" or the like, put the name in its place and change nothing else. Take
only facts on the question and of the kind that is asked for:
- any: every statement.
- figures: statements with a quantity and what it is a quantity of.
- dates: statements that say when something was or will be.
- names: statements that name a person, an organisation, a place or a work, and say what it has to do with the question.
- definitions: statements that say what something is.

For each fact give:
- passage: number of the passage it stands in.
- text: the statement.

The most important come first, each once, {MOST} at the most. Where the passages have none, give none.

{EVIDENCE_RULE}"""


class FactExtractorInput(RoleInput):
    """Which facts are wanted."""

    question: str
    """What they are to be about."""
    kind: FactKind = "any"
    """Of which kind they are to be."""


class ExtractedFact(BaseModel):
    """A fact."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    passage: int
    """Number of the passage it stands in."""
    text: str = Field(min_length=1, max_length=1000)
    """The statement."""


class FactExtractorOutput(RoleOutput):
    """The facts."""

    facts: tuple[ExtractedFact, ...] = Field(max_length=MOST)
    """The facts, the most important first."""


def render(input: FactExtractorInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = joined(
        mark_passages(evidence.passages), tagged("question", f"{input.question}\nKind of facts: {input.kind}")
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: FactExtractorInput, evidence: Evidence) -> FactExtractorOutput:
    """Take the sentences of the kind that are nearest to the question."""
    found = facts(input.question, input.kind, evidence.passages, evidence.vectors, MOST)
    return FactExtractorOutput(facts=tuple(ExtractedFact(passage=fact.passage, text=fact.text) for fact in found))


def extracted(output: FactExtractorOutput, passages: Sequence[Passage]) -> Draft:
    """Return the facts with their quotes, as a list; what a passage does not have is none."""
    claims = tuple(cite(fact.text.strip(), (fact.passage,), passages) for fact in output.facts)
    held = tuple(claim for claim in claims if claim.citations and _says(claim, passages))
    return Draft(blocks=(Block(kind="bullets", claims=held),)) if held else Draft()


def _says(claim: Claim, passages: Sequence[Passage]) -> bool:
    """Tell whether the passage of a fact has its numbers, dates and names."""
    its = next(passage for passage in passages if passage.chunk == claim.citations[0].chunk)
    return not unsourced(claim.text, "\n".join((its.title, *its.heading_path, its.text)))


ROLE = Role("fact_extractor", "fast", FactExtractorOutput, render, offline)
