"""List the passages that a run has accepted, with their texts and sources."""

from dataclasses import dataclass

from tenure.contracts.evidence.corpora import StoredPassage
from tenure.contracts.research.trace import Trace
from tenure.runs.errors import TenureError
from tenure.runs.service import MAX_PASSAGES, Service


@dataclass(frozen=True)
class AcceptedPassage:
    """An accepted passage as the page shows it."""

    cycle: int
    """Research cycle that accepted it; 0 for the evidence before the first cycle."""
    topic: str
    """Topic it counts for."""
    query: str
    """Query that found it."""
    relevance: float
    """Relevance to the topic."""
    passage: StoredPassage
    """Its text and source."""


@dataclass(frozen=True)
class FoundPassages:
    """Latest accepted passages of a run."""

    passages: tuple[AcceptedPassage, ...]
    """The passages, latest first."""
    total: int
    """Number of all accepted passages."""
    problem: str = ""
    """Reason for which their texts cannot be shown; empty if they can."""


async def list_findings(service: Service, trace: Trace) -> FoundPassages:
    """Return the latest accepted passages of a run."""
    found = [(0, finding) for finding in trace.initial_findings]
    found += [(cycle.number, finding) for cycle in trace.cycles for finding in cycle.accepted]
    latest = found[::-1][:MAX_PASSAGES]
    try:
        stored = {one.chunk: one for one in await service.read_passages([finding.passage for _, finding in latest])}
    except TenureError as error:
        return FoundPassages((), len(found), str(error))
    return FoundPassages(
        tuple(
            AcceptedPassage(cycle, one.topic, one.query, one.passage.relevance, stored[one.passage.chunk])
            for cycle, one in latest
            if one.passage.chunk in stored
        ),
        len(found),
    )
