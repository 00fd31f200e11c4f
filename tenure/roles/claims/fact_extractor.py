"""Extract single statements from passages, word for word."""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from tenure.algorithms.claims.citations import cite_claim
from tenure.algorithms.text.details import find_unsupported_details
from tenure.algorithms.text.passage import Passage
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.messages import Message
from tenure.contracts.research.tools import FactKind
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    PostprocessedRole,
    RoleInput,
    RoleOutput,
    mark_passages,
    skip,
    wrap_in_tag,
)
from tenure.roles.prompting import join_parts

MAX_FACTS: Final = 20
"""Maximum number of facts."""

SYSTEM = f"""You take single facts out of numbered passages, for a reader who will work with them.

A fact is one sentence of a passage that states one thing and is understood without the sentences around it. Copy it
word for word; if it begins with "it", "this" or a similar word, put the name in its place and change nothing else. Take
only facts on the question and of the kind that is asked for:
- any: every statement.
- figures: statements with a quantity and what it is a quantity of.
- dates: statements that say when something was or will be.
- names: statements that name a person, an organisation, a place or a work, and say what it has to do with the question.
- definitions: statements that say what something is.

For each fact give:
- passage: number of the passage that contains it.
- text: the statement.

The most important come first, each once, at most {MAX_FACTS}. If the passages have none, give none.

{EVIDENCE_RULE}"""


class FactExtractorInput(RoleInput):
    """Description of the requested facts."""

    question: str
    """Subject of the facts."""
    kind: FactKind = "any"
    """Kind of the facts."""


class ExtractedFact(RoleOutput):
    """A fact."""

    passage: int
    """Number of the passage that contains it."""
    text: str = Field(min_length=1, max_length=1000)
    """The statement."""


class FactExtractorOutput(RoleOutput):
    """The facts."""

    facts: tuple[ExtractedFact, ...] = Field(max_length=MAX_FACTS)
    """The facts, the most important first."""


def render(input: FactExtractorInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    user = join_parts(
        mark_passages(evidence.passages), wrap_in_tag("question", f"{input.question}\nKind of facts: {input.kind}")
    )
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def build_draft(input: FactExtractorInput, output: FactExtractorOutput, evidence: Evidence) -> Draft:
    """Return the facts with their quotes, as a list; omit a fact that its passage does not state."""
    claims = tuple(cite_claim(fact.text.strip(), (fact.passage,), evidence.passages) for fact in output.facts)
    supported = tuple(claim for claim in claims if claim.citations and _supports_details(claim, evidence.passages))
    return Draft(blocks=(Block(kind="bullets", claims=supported),)) if supported else Draft()


def _supports_details(claim: Claim, passages: Sequence[Passage]) -> bool:
    """Return whether the passage of a fact contains its numbers, dates and names."""
    its = next(passage for passage in passages if passage.chunk == claim.citations[0].chunk)
    return not find_unsupported_details(claim.text, its.title, *its.heading_path, its.text)


ROLE = PostprocessedRole(
    "fact_extractor",
    "fast",
    FactExtractorInput,
    FactExtractorOutput,
    render,
    skip(FactExtractorOutput(facts=())),
    build_draft,
    Draft,
)
