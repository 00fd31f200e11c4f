"""Contradiction finder: which of the statements that sources make on one subject cannot both be true (003 §2.3.2).

It is shown pairs that were chosen by likeness, so that the work grows with the number of sources and not with its
square. Both sides of what it finds are quotes, since a pair consists of two pieces of stored text.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.claims.claim_pairs import MOST, disagreeing, pairs
from tenure.algorithms.text.passage import Passage
from tenure.contracts.evidence.passages import Citation, Disagreement
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.prompting import as_list, joined

SYSTEM = f"""You look for contradictions between sources. You are given a question and statements of different sources
as numbered passages, two by two: passages 1 and 2 are pair 1, passages 3 and 4 are pair 2, and so on.

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
    """What the report is about."""

    question: str
    """The question."""


class FoundContradiction(BaseModel):
    """A pair that contradicts itself."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    pair: int
    """Number of the pair, from 1."""
    severity: Literal["low", "medium", "high"]
    """How much it matters to the question."""
    about: str = Field(max_length=300)
    """What they disagree in, in a few words."""


class ContradictionFinderOutput(RoleOutput):
    """The contradictions."""

    contradictions: tuple[FoundContradiction, ...] = Field(max_length=MOST)
    """Those that were found; empty for none."""


def paired(evidence: Evidence) -> Evidence:
    """Return the statements that are to be compared as the evidence, two by two."""
    chosen = pairs(evidence.passages, evidence.vectors)
    return replace(evidence, passages=tuple(side for pair in chosen for side in (pair.a, pair.b)))


def render(input: ContradictionFinderInput, evidence: Evidence) -> list[Message]:
    """Render the prompt over pairs of statements."""
    whole = evidence.passages[: len(evidence.passages) // 2 * 2]
    numbered = [f"pair {n}: passages {2 * n - 1} and {2 * n}" for n in range(1, len(whole) // 2 + 1)]
    user = joined(mark_passages(whole), as_list("Pairs", numbered), tagged("question", input.question))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: ContradictionFinderInput, evidence: Evidence) -> ContradictionFinderOutput:
    """Report pairs that are the same statement but for an opposite, a denial or a figure."""
    sides = evidence.passages
    vectors = evidence.vectors([side.text for side in sides])
    found = [
        (n // 2 + 1, disagreeing(sides[n].text, sides[n + 1].text, float(vectors[n] @ vectors[n + 1])))
        for n in range(0, len(sides) - 1, 2)
    ]
    return ContradictionFinderOutput(
        contradictions=tuple(
            FoundContradiction(pair=number, severity=what.severity, about=what.about) for number, what in found if what
        )
    )


def disagreements(output: ContradictionFinderOutput, sides: Sequence[Passage]) -> tuple[Disagreement, ...]:
    """Return what was found as two quotes each; a pair that does not exist is none."""
    first = {one.pair: one for one in reversed(output.contradictions) if 1 <= one.pair <= len(sides) // 2}
    return tuple(
        Disagreement(
            a=_quote(sides[2 * number - 2]), b=_quote(sides[2 * number - 1]), severity=one.severity, about=one.about
        )
        for number, one in sorted(first.items())
    )


def _quote(side: Passage) -> Citation:
    return Citation(source=side.source, chunk=side.chunk, start=side.start, end=side.end, quote=side.text)


ROLE = Role("contradiction_finder", "main", ContradictionFinderOutput, render, offline, read_by_people=True)
