"""Compare two documents: find the points on which both make statements, and those on which only one does."""

from collections.abc import Sequence
from typing import Final

from pydantic import Field

from tenure.algorithms.claims.citations import cite_claim
from tenure.algorithms.text.passage import Passage
from tenure.contracts.evidence.passages import Claim
from tenure.contracts.messages import Message
from tenure.contracts.research.tools import ComparedPoint, Comparison, ComparisonRelation
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

MAX_POINTS: Final = 12
"""Maximum number of points."""

SYSTEM = f"""You compare two documents in what you are asked to compare them in. You are given numbered passages: first
those of the first document, then those of the second, and the number with which the second begins.

Find the points that matter for the comparison. For each give:
- relation: same if both say the same on it; different if they say something else, so that a reader has to know both;
  only_first or only_second if only one of them says anything on it.
- about: what the point is, in a few words of your own.
- first: what the first document says on it, in one sentence; empty for only_second.
- first_passage: number of the passage of the first document that says so; 0 if `first` is empty.
- second: what the second document says on it, in one sentence; empty for only_first.
- second_passage: number of the passage of the second document that says so; 0 if `second` is empty.

Say only what the passages say, with their numbers, names and conditions. If a document says
nothing in these passages, it does not deny anything. The points that differ come first, at most {MAX_POINTS}.

{EVIDENCE_RULE}"""


class DocumentComparerInput(RoleInput):
    """Criteria of the comparison."""

    criteria: str
    """Criteria by which the documents are compared."""
    first_document_passages: int = Field(ge=0)
    """Number of passages of the first document; the other passages are of the second."""


class PointOfComparison(RoleOutput):
    """A point."""

    relation: ComparisonRelation
    """Relation of the two documents in this point."""
    about: str = Field(max_length=300)
    """Subject of the point, in a few words."""
    first: str = Field(max_length=1000)
    """Statement of the first document; empty for none."""
    first_passage: int
    """Number of the passage with this statement; 0 for none."""
    second: str = Field(max_length=1000)
    """Statement of the second document; empty for none."""
    second_passage: int
    """Number of the passage with this statement; 0 for none."""


class DocumentComparerOutput(RoleOutput):
    """The comparison."""

    points: tuple[PointOfComparison, ...] = Field(max_length=MAX_POINTS)
    """The points, differences first."""


def render(input: DocumentComparerInput, evidence: Evidence) -> list[Message]:
    """Render the prompt."""
    question = (
        f"{input.criteria}\nThe passages of the second document begin with number {input.first_document_passages + 1}."
    )
    user = join_parts(mark_passages(evidence.passages), wrap_in_tag("question", question))
    return [Message(role="system", content=SYSTEM), Message(role="user", content=user)]


def build_comparison(input: DocumentComparerInput, output: DocumentComparerOutput, evidence: Evidence) -> Comparison:
    """Return the points with their quotes; omit a side that names no passage of its document."""
    points = []
    for point in output.points:
        first = _cite_side(
            point.first,
            point.first_passage if point.first_passage <= input.first_document_passages else 0,
            evidence.passages,
        )
        second = _cite_side(
            point.second,
            point.second_passage if point.second_passage > input.first_document_passages else 0,
            evidence.passages,
        )
        if first or second:
            relation = point.relation if first and second else "only_first" if first else "only_second"
            points.append(ComparedPoint(relation=relation, about=point.about, first=first, second=second))
    return Comparison(points=tuple(points))


def _cite_side(text: str, number: int, passages: Sequence[Passage]) -> Claim | None:
    claim = cite_claim(text.strip(), (number,), passages) if text.strip() else None
    return claim if claim and claim.citations else None


ROLE = PostprocessedRole(
    "document_comparer",
    "main",
    DocumentComparerInput,
    DocumentComparerOutput,
    render,
    skip(DocumentComparerOutput(points=())),
    build_comparison,
    Comparison,
)
