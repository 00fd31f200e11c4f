"""Differences between two runs: their findings, sources and conclusions."""

from typing import Literal

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.passages import ClaimStatus
from tenure.contracts.result.result import ResultStatus

ConclusionPart = Literal["abstract", "resolution", "gaps", "comparison"]
"""Part of a report that draws conclusions."""


class DiffQuote(Contract):
    """Verbatim quote in support of a statement."""

    uri: str
    """Path or URL of the source."""
    title: str
    """Title of the source."""
    text: str
    """Quoted text."""


class DiffStatement(Contract):
    """A sentence of a report with its quotes."""

    topic: str
    """Heading of its section."""
    text: str
    status: ClaimStatus
    """Result of verification."""
    quotes: tuple[DiffQuote, ...] = ()
    """Quotes that support it."""


class ChangedFinding(Contract):
    """A finding of both runs that differs."""

    a: DiffStatement
    """Statement of the first run."""
    b: DiffStatement
    """Statement of the second run."""
    text_differs: bool
    """Whether the wording differs."""
    support_differs: bool
    """Whether the verification status differs."""
    evidence_differs: bool
    """Whether the cited sources differ."""


class CitedSource(Contract):
    """A source cited by a report."""

    uri: str
    """Path or URL."""
    title: str


class ChangedConclusion(Contract):
    """A concluding part that differs."""

    part: ConclusionPart
    """Part of the report."""
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
    """Title of the first source."""
    b_title: str = ""
    """Title of the second source."""


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
    """Final status of the run."""
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
    """Sources cited by both runs."""
    conclusions: tuple[ChangedConclusion, ...] = ()
    """Conclusions that differ."""
    metrics: tuple[ChangedMetric, ...] = ()
    """Metrics that differ."""
    program: str = ""
    """Unified diff from the program of the first run to that of the second."""
