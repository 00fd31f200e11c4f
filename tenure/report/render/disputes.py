"""Arrange disputes between sources for every format: evidence for and against positions, and contradictions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tenure.algorithms.claims.disputes import OUTCOMES
from tenure.contracts.evidence.disputes import DisputeSide
from tenure.contracts.result.result import (
    Result,
    ResultCitation,
    ResultContradiction,
    ResultDisputeOutcome,
    ResultPosition,
)
from tenure.report.render.escaping import flatten

POSITIONS_HEADING = "For and against"
CONTRADICTIONS_HEADING = "Contradictions between sources"


@dataclass(frozen=True)
class Side:
    """A quote on one side of a dispute."""

    label: str
    """Words that place the quote: for, against; empty for a statement of a contradiction."""
    citation: ResultCitation
    """The quote."""
    note: str
    """Date and origin of its source; empty if unknown."""


@dataclass(frozen=True)
class ShownDispute:
    """A dispute as a report shows it."""

    words: str
    """Its subject."""
    sides: tuple[Side, ...]
    """Quotes of both sides, then those that the search for a primary or newer source found."""
    outcome: str
    """Outcome in words; empty if it is unknown."""


@dataclass(frozen=True)
class DisputesPart:
    """Part of a report with disputes."""

    id: str
    """Identifier of the part."""
    heading: str
    """Its heading."""
    disputes: tuple[ShownDispute, ...]
    """Its disputes; never empty."""


def list_disputes(result: Result) -> Iterator[DisputesPart]:
    """Yield the parts of a report on disputes that have content."""
    if result.positions:
        yield DisputesPart("positions", POSITIONS_HEADING, tuple(map(_show_position, result.positions)))
    if result.contradictions:
        shown = tuple(map(_show_contradiction, result.contradictions))
        yield DisputesPart("disagreements", CONTRADICTIONS_HEADING, shown)


def _show_position(held: ResultPosition) -> ShownDispute:
    counts = f"{held.supporting_passages} for, {held.contradicting_passages} against, {held.neutral_passages} neutral"
    sides = (
        *(Side("For", quote, _describe_standing(held.outcome, quote)) for quote in held.supporting),
        *(Side("Against", quote, _describe_standing(held.outcome, quote)) for quote in held.contradicting),
        *_list_further(held.outcome, {"a": "For, found by the last search", "b": "Against, found by the last search"}),
    )
    return ShownDispute(f"{flatten(held.position)} Passages: {counts}.", sides, _describe_outcome(held.outcome))


def _show_contradiction(found: ResultContradiction) -> ShownDispute:
    sides = (
        *(Side("", quote, _describe_standing(found.outcome, quote)) for quote in (found.a, found.b)),
        *_list_further(found.outcome, {"a": "Agrees with the first", "b": "Agrees with the second"}),
    )
    return ShownDispute(describe_severity(found), sides, _describe_outcome(found.outcome))


def _list_further(outcome: ResultDisputeOutcome | None, labels: dict[DisputeSide, str]) -> Iterator[Side]:
    """Yield the quotes that the search for a primary or newer source found."""
    for source in outcome.sources if outcome else ():
        if source.found:
            yield Side(labels[source.side], source.citation, _describe_standing(outcome, source.citation))


def _describe_standing(outcome: ResultDisputeOutcome | None, quote: ResultCitation) -> str:
    source = next((one for one in outcome.sources if one.citation == quote), None) if outcome else None
    if source is None:
        return ""
    parts: Sequence[str] = (source.published, f"primary source: {source.primary}" if source.primary else "")
    return "; ".join(flatten(part) for part in parts if part)


def _describe_outcome(outcome: ResultDisputeOutcome | None) -> str:
    return f"{OUTCOMES[outcome.status]}: {flatten(outcome.reason)}" if outcome else ""


def describe_severity(found: ResultContradiction) -> str:
    """Return the severity of a contradiction, and its subject if known."""
    return f"Severity: {found.severity}" + (f" ({flatten(found.about)})" if found.about else "")
