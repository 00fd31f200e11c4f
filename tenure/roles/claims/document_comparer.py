"""Document comparer: what two documents say on the same, and what only one of them says (003, CompareDocuments)."""

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from tenure.algorithms.claims.citations import cite
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.writing.document_comparison import Point, compared
from tenure.algorithms.writing.facts import Fact
from tenure.contracts.evidence.passages import Claim
from tenure.contracts.research.tools import ComparedPoint, Comparison, Relation
from tenure.roles.base import EVIDENCE_RULE, Evidence, Message, Role, RoleInput, RoleOutput, mark_passages, tagged
from tenure.roles.prompting import joined

MOST: Final = 12
"""Points at the most."""

SYSTEM = f"""You compare two documents in what you are asked to compare them in. You are given numbered passages: first
those of the first document, then those of the second, and the number with which the second begins.

Find the points that matter for the comparison. For each give:
- relation: same if both say the same on it; different if they say something else, so that a reader has to know both;
  only_first or only_second if only one of them says anything on it.
- about: what the point is, in a few words of your own.
- first: what the first document says on it, in one sentence; empty for only_second.
- first_passage: number of the passage of the first document that says so; 0 where `first` is empty.
- second: what the second document says on it, in one sentence; empty for only_first.
- second_passage: number of the passage of the second document that says so; 0 where `second` is empty.

Say only what the passages say, with their numbers, names and conditions. That a document says nothing in these passages
does not mean that it denies anything. The points that differ come first, {MOST} at the most.

{EVIDENCE_RULE}"""


class DocumentComparerInput(RoleInput):
    """What is compared."""

    criteria: str
    """In what the documents are compared."""
    border: int = Field(ge=0)
    """How many of the passages are of the first document."""


class PointOfComparison(BaseModel):
    """A point."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    relation: Relation
    """What the documents have to do with each other in it."""
    about: str = Field(max_length=300)
    """What it is, in a few words."""
    first: str = Field(max_length=1000)
    """What the first document says; empty for nothing."""
    first_passage: int
    """Number of the passage that says so; 0 for none."""
    second: str = Field(max_length=1000)
    """What the second document says; empty for nothing."""
    second_passage: int
    """Number of the passage that says so; 0 for none."""


class DocumentComparerOutput(RoleOutput):
    """The comparison."""

    points: tuple[PointOfComparison, ...] = Field(max_length=MOST)
    """The points, those that differ first."""


def render(input: DocumentComparerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    asked = f"{input.criteria}\nThe passages of the second document begin with number {input.border + 1}."
    user = joined(mark_passages(evidence.passages), tagged("question", asked))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def offline(input: DocumentComparerInput, evidence: Evidence) -> DocumentComparerOutput:
    """Pair statements that speak of the same, and add what each document says alone."""
    first, second = evidence.passages[: input.border], evidence.passages[input.border :]
    return DocumentComparerOutput(
        points=tuple(_point(point) for point in compared(input.criteria, first, second, evidence.vectors))
    )


def _point(point: Point) -> PointOfComparison:
    none = Fact(0, "")
    first, second = point.first or none, point.second or none
    return PointOfComparison(
        relation=point.relation,
        about=point.about[:300],
        first=first.text,
        first_passage=first.passage,
        second=second.text,
        second_passage=second.passage,
    )


def comparison(output: DocumentComparerOutput, border: int, passages: Sequence[Passage]) -> Comparison:
    """Return the points with their quotes; a side that names no passage of its document is none."""
    points = []
    for point in output.points:
        first = _cited(point.first, point.first_passage if point.first_passage <= border else 0, passages)
        second = _cited(point.second, point.second_passage if point.second_passage > border else 0, passages)
        if first or second:
            relation = point.relation if first and second else "only_first" if first else "only_second"
            points.append(ComparedPoint(relation=relation, about=point.about, first=first, second=second))
    return Comparison(points=tuple(points))


def _cited(text: str, number: int, passages: Sequence[Passage]) -> Claim | None:
    claim = cite(text.strip(), (number,), passages) if text.strip() else None
    return claim if claim and claim.citations else None


ROLE = Role("document_comparer", "main", DocumentComparerOutput, render, offline)
