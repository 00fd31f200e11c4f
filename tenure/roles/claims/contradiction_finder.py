"""Find statements of the sources on the same subject that cannot both be true.

The role receives pairs that were chosen by similarity, so that the work grows linearly with the number of sources. Both
sides of a contradiction are quotes, since a pair consists of two pieces of stored text.
"""

from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.claims.claim_pairs import MAX_PAIRS, find_disputable_pairs
from tenure.algorithms.claims.contradictions import detect_contradiction
from tenure.algorithms.text.passage import Passage
from tenure.contracts.evidence.disputes import Contradiction, Contradictions
from tenure.contracts.evidence.passages import Citation
from tenure.contracts.messages import Message
from tenure.roles.base import (
    EVIDENCE_RULE,
    Evidence,
    PostprocessedRole,
    RoleInput,
    RoleOutput,
    mark_passages,
    wrap_in_tag,
)
from tenure.roles.prompting import join_parts

SYSTEM = f"""You look for contradictions between sources. You are given a question and statements of sources as
numbered passages, pair by pair. Both may be from different places of one source; the attributes `source`, `file` and
`section` show which document, edition or part they are from.

Report a pair only if both statements cannot be true of the same thing at the same time: one denies what the other
affirms, they give different numbers or dates for the same quantity or event, or they claim opposite effects. Statements
on different things, of different times or versions, under different conditions, or of which one merely says more than
the other, are no contradiction. Most pairs are none, and an empty answer is a good answer.

For each contradiction give:
- pair: its number.
- severity: high if the answer to the question turns on it, medium if a reader should know of it, low if it is a detail.
- about: what they disagree in, in a few words of your own.

{EVIDENCE_RULE}"""


class ContradictionFinderInput(RoleInput):
    """Subject of the report."""

    question: str
    """The question."""


class FoundContradiction(BaseModel):
    """A pair that contradicts itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    pair: int
    """Number of the pair, from 1."""
    severity: Literal["low", "medium", "high"]
    """Importance for the question."""
    about: str = Field(max_length=300)
    """Subject of the disagreement, in a few words."""


class ContradictionFinderOutput(RoleOutput):
    """The contradictions."""

    contradictions: tuple[FoundContradiction, ...] = Field(max_length=MAX_PAIRS)
    """The contradictions; empty for none."""


def pair_statements(evidence: Evidence) -> Evidence:
    """Return the statements to compare as evidence, two by two."""
    chosen = find_disputable_pairs(evidence.passages, evidence.embed)
    return replace(evidence, passages=tuple(side for pair in chosen for side in (pair.a, pair.b)))


def render(input: ContradictionFinderInput, evidence: Evidence) -> list[Message]:
    """Render the prompt over pairs of statements."""
    sides = evidence.passages
    # Pair by pair, because neighbours in one document would otherwise be moved from one pair to another.
    pairs = [
        f"Pair {n // 2 + 1}:\n{mark_passages(sides[n : n + 2], first=n + 1, among=sides)}"
        for n in range(0, len(sides) - 1, 2)
    ]
    user = join_parts(*pairs, wrap_in_tag("question", input.question))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def fallback(input: ContradictionFinderInput, evidence: Evidence) -> ContradictionFinderOutput:
    """Report pairs that say the same with another value; sections of one source may speak of different cases."""
    pairs = list(zip(evidence.passages[::2], evidence.passages[1::2], strict=False))
    found = [
        (number, detect_contradiction(a.text, b.text))
        for number, (a, b) in enumerate(pairs, 1)
        if a.source != b.source or a.headings == b.headings
    ]
    return ContradictionFinderOutput(
        contradictions=tuple(
            FoundContradiction(pair=number, severity=what.severity, about=what.about) for number, what in found if what
        )
    )


def has_pairs(input: ContradictionFinderInput, evidence: Evidence) -> bool:
    """Return whether there are statements on the same subject."""
    return bool(evidence.passages)


def build_contradictions(
    input: ContradictionFinderInput, output: ContradictionFinderOutput, evidence: Evidence
) -> Contradictions:
    """Return the contradictions with a quote of each side; omit pairs that do not exist."""
    sides = evidence.passages
    first = {one.pair: one for one in reversed(output.contradictions) if 1 <= one.pair <= len(sides) // 2}
    found = tuple(
        Contradiction(
            a=_cite_statement(sides[2 * number - 2]),
            b=_cite_statement(sides[2 * number - 1]),
            severity=one.severity,
            about=one.about,
        )
        for number, one in sorted(first.items())
    )
    return Contradictions(found=found)


def _cite_statement(side: Passage) -> Citation:
    return Citation(source=side.source, chunk=side.chunk, start=side.start, end=side.end, quote=side.text)


ROLE = PostprocessedRole(
    "contradiction_finder",
    "main",
    ContradictionFinderInput,
    ContradictionFinderOutput,
    render,
    fallback,
    build_contradictions,
    Contradictions,
    prepare=pair_statements,
    needs_model=has_pairs,
    read_by_people=True,
)
