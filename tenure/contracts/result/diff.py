"""Differences between two runs: their findings, sources and conclusions."""

from typing import Literal

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.passages import ClaimStatus
from tenure.contracts.result.changes import CitedStatement
from tenure.contracts.result.result import ResultStatus

ConclusionPart = Literal["abstract", "resolution", "gaps", "comparison"]
"""Part of a report that draws conclusions."""


class DiffStatement(CitedStatement):
    """A statement of a report with its quotes."""

    status: ClaimStatus


class ChangedFinding(Contract):
    """A finding of both runs that differs."""

    a: DiffStatement
    b: DiffStatement
    text_differs: bool
    support_differs: bool
    """Whether the verification status differs."""
    evidence_differs: bool


class CitedSource(Contract):
    """A source cited by a report."""

    uri: str
    title: str


class ChangedConclusion(Contract):
    """A concluding part that differs."""

    part: ConclusionPart
    a: str
    """Text of the first run without citation marks; empty if it has none."""
    b: str
    """Text of the second run."""


class UnsharedContradiction(Contract):
    """A contradiction that only one of the runs found."""

    a: str
    """Quote of one source."""
    b: str
    """Quote of the other source."""
    about: str
    """Subject of the contradiction, if known."""
    a_title: str = ""
    b_title: str = ""


class ChangedMetric(Contract):
    """A metric that differs."""

    name: str
    a: float | None
    """Value of the first run; null if it has none."""
    b: float | None
    """Value of the second run."""


class DiffSide(Contract):
    """Content of only one of the two runs."""

    id: RunId
    question: str
    status: ResultStatus
    findings: tuple[DiffStatement, ...] = ()
    """Findings only of this run."""
    sources: tuple[CitedSource, ...] = ()
    """Sources cited only by this run."""
    contradictions: tuple[UnsharedContradiction, ...] = ()
    """Contradictions found only by this run."""


class RunDiff(Contract):
    """Differences between two runs."""

    a: DiffSide
    """Content of only the first run."""
    b: DiffSide
    """Content of only the second run."""
    changed: tuple[ChangedFinding, ...] = ()
    """Findings of both runs that differ."""
    unchanged: int = 0
    """Number of findings that are equal in both runs."""
    common_sources: tuple[CitedSource, ...] = ()
    conclusions: tuple[ChangedConclusion, ...] = ()
    metrics: tuple[ChangedMetric, ...] = ()
    program: str = ""
    """Unified diff from the program of the first run to that of the second."""
