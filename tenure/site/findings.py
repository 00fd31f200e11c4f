"""List the passages that a run has accepted, and the sources that its report cites."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from tenure.contracts.evidence.corpora import StoredPassage
from tenure.contracts.knowledge.memory import is_personal
from tenure.contracts.research.cycle import Finding
from tenure.contracts.research.trace import Trace
from tenure.contracts.result.result import Result, SourceEntry
from tenure.report.layout.limits import list_all_claims
from tenure.report.sources.links import is_web
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


class SourceCard(NamedTuple):
    """A source of a report as the page shows it."""

    number: int
    title: str
    kind: str
    """Kind of document in a word or two."""
    date: str
    """Day of publication, or else of reading."""
    citations: int
    """Number of statements that cite it."""
    span: tuple[int, int] | None
    """Offsets of the first cited words; None if none are cited."""


def list_sources(result: Result) -> tuple[SourceCard, ...]:
    """Return the sources of a report in the order of their numbers."""
    cited: dict[int, list[tuple[int, int]]] = {source.n: [] for source in result.sources}
    for claim in list_all_claims(result):
        for number, citation in {citation.source: citation for citation in reversed(claim.citations)}.items():
            cited.get(number, []).append((citation.start, citation.end))
    return tuple(
        SourceCard(
            source.n,
            source.title,
            _describe_kind(source),
            source.published or f"read {source.accessed[:10]}",
            len(cited[source.n]),
            next(iter(cited[source.n]), None),
        )
        for source in result.sources
    )


def _describe_kind(source: SourceEntry) -> str:
    if is_personal(source.uri):
        return "memory"
    if source.derived:
        return "computed"
    if source.from_picture:
        return "picture"
    return "web page" if is_web(source.uri) else PurePath(source.uri).suffix.removeprefix(".").upper() or "document"
