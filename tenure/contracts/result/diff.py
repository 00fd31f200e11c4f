"""What differs between two runs: their findings, their sources and their conclusions."""

from typing import Literal

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.passages import ClaimStatus
from tenure.contracts.result.result import ResultStatus

Part = Literal["abstract", "situation", "complication", "resolution"]
"""A part of a report that concludes."""


class Quote(Contract):
    """Words that a statement rests on."""

    uri: str
    """Path or address of their source."""
    title: str
    """Its title."""
    text: str
    """The words."""


class Statement(Contract):
    """A sentence of a report, by itself."""

    topic: str
    """Heading of its section."""
    text: str
    """The sentence."""
    status: ClaimStatus
    """What is known of its support."""
    quotes: tuple[Quote, ...] = ()
    """What it rests on."""


class Changed(Contract):
    """What both runs found, each in its own way."""

    a: Statement
    """As the first one has it."""
    b: Statement
    """As the second one has it."""
    words: bool
    """Whether it is said in other words."""
    support: bool
    """Whether it is supported otherwise."""
    evidence: bool
    """Whether it rests on other sources."""


class Cited(Contract):
    """A source that a report cites."""

    uri: str
    """Path or address."""
    title: str
    """Its title."""


class Conclusion(Contract):
    """A part of the reports that concludes, where the two differ."""

    part: Part
    """Which part."""
    a: str
    """As the first run has it, without marks; empty where it has none."""
    b: str
    """As the second run has it."""


class Disagreeing(Contract):
    """Two sources that only one of the runs saw to disagree."""

    a: str
    """Words of one."""
    b: str
    """Words of the other."""
    about: str
    """What they disagree in, where that is known."""


class Figure(Contract):
    """A number that both reports have, or one of them."""

    name: str
    """What it counts or measures."""
    a: float | None
    """Of the first run; null where it has none."""
    b: float | None
    """Of the second run."""


class Side(Contract):
    """One of the two runs."""

    id: RunId
    """The run."""
    question: str
    """What it was asked."""
    status: ResultStatus
    """How it ended."""
    findings: tuple[Statement, ...] = ()
    """What only it found."""
    sources: tuple[Cited, ...] = ()
    """Sources that only it cites."""
    contradictions: tuple[Disagreeing, ...] = ()
    """Contradictions that only it found."""


class Difference(Contract):
    """What differs between two runs."""

    a: Side
    """The first run, and what only it has."""
    b: Side
    """The second run, and what only it has."""
    changed: tuple[Changed, ...] = ()
    """Findings that both have and that differ."""
    same: int = 0
    """Findings that are the same in both."""
    common_sources: tuple[Cited, ...] = ()
    """Sources that both cite."""
    conclusions: tuple[Conclusion, ...] = ()
    """Conclusions that differ."""
    figures: tuple[Figure, ...] = ()
    """Figures that differ."""
    program: str = ""
    """How the program of the second run differs from that of the first, as a unified diff."""
