"""List the passages that a run has accepted, with their texts and sources."""

from dataclasses import dataclass
from typing import NamedTuple

from tenure.contracts.evidence.corpora import StoredPassage
from tenure.contracts.research.cycle import Finding
from tenure.contracts.research.trace import Trace
from tenure.runs.errors import TenureError
from tenure.runs.service import MAX_PASSAGES, Service


class AcceptedPassage(NamedTuple):
    """An accepted passage."""

    cycle: int
    """Research cycle that accepted it; 0 for the evidence before the first cycle."""
    finding: Finding
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
    accepted = [(0, finding) for finding in trace.initial_findings]
    accepted += [(cycle.number, finding) for cycle in trace.cycles for finding in cycle.accepted]
    latest = accepted[::-1][:MAX_PASSAGES]
    try:
        passages = await service.read_passages([finding.passage for _, finding in latest])
    except TenureError as error:
        return FoundPassages((), len(accepted), str(error))
    stored = {passage.chunk: passage for passage in passages}
    return FoundPassages(
        tuple(
            AcceptedPassage(cycle, finding, stored[finding.passage.chunk])
            for cycle, finding in latest
            if finding.passage.chunk in stored
        ),
        len(accepted),
    )
