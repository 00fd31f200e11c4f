"""Look once for a primary or newer source on each dispute between sources, before the dispute is reported."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from temporalio import workflow

from workflows.research.report_phases.report_context import ReportContext

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.algorithms.claims.disputes import build_dispute_query, decide_dispute, describe_outcome
    from tenure.contracts.evidence.disputes import (
        Contradiction,
        DisputeOutcome,
        DisputeSide,
        DisputeSource,
        PositionEvidence,
    )
    from tenure.contracts.evidence.passages import PassageRef, SearchRequest
    from tenure.contracts.run.run import RunPhase
    from tenure.roles.claims import dispute_judge
    from tenure.roles.claims.dispute_judge import DisputeJudgeInput
    from tenure.roles.retrieval import stance_judge
    from tenure.roles.retrieval.stance_judge import StanceJudgeInput

MAX_DISPUTES = 4
"""Disputes for which a run searches, the most severe contradictions first."""
PASSAGES_PER_DISPUTE = 12
"""Passages of the search for a primary or newer source."""
MAX_PASSAGES_PER_SOURCE = 2
"""Passages of one source in that search."""
SEVERITIES = ("high", "medium", "low")

_SIDES: dict[str, DisputeSide] = {"supporting": "a", "contradicting": "b"}


@dataclass(frozen=True)
class Dispute:
    """A dispute between sources."""

    subject: str
    """Name of the dispute for readers."""
    query: str
    """Query for a primary or newer source."""
    sources: tuple[DisputeSource, ...]
    """Sources of both sides."""
    judge: Callable[[Sequence[PassageRef]], Awaitable[tuple[DisputeSource, ...]]]
    """Function that returns the passages which take a side."""
    is_exclusive: bool = True
    """Whether the two sides cannot both be true."""


async def resolve_disputes(context: ReportContext) -> None:
    """Search once for each contradiction, and for each position with both sides; the state receives the outcomes."""
    contradictions = sorted(context.state.contradictions, key=lambda pair: SEVERITIES.index(pair.severity))
    disputed = [evidence for evidence in context.state.research.positions if evidence.is_disputed]
    disputes = [
        *(_read_contradiction(context, contradiction) for contradiction in contradictions),
        *(_read_position(context, evidence) for evidence in disputed),
    ]
    searches = [await _search(context, dispute, n) for n, dispute in enumerate(disputes)]
    outcomes = await asyncio.gather(*(_decide(context, *pair) for pair in zip(disputes, searches, strict=True)))
    for dispute, outcome in zip(disputes, outcomes, strict=True):
        context.add_decisions([describe_outcome(dispute.subject, outcome)])
    of_contradictions, of_positions = outcomes[: len(contradictions)], outcomes[len(contradictions) :]
    context.update(
        contradictions=tuple(
            contradiction.model_copy(update={"outcome": outcome})
            for contradiction, outcome in zip(contradictions, of_contradictions, strict=True)
        ),
    )
    outcome_by_position = dict(zip((evidence.position for evidence in disputed), of_positions, strict=True))
    context.update(
        research=context.state.research.model_copy(
            update={
                "positions": tuple(
                    evidence.model_copy(update={"outcome": outcome_by_position.get(evidence.position)})
                    for evidence in context.state.research.positions
                )
            }
        )
    )


def _read_contradiction(context: ReportContext, contradiction: Contradiction) -> Dispute:
    a, b, about = contradiction.a, contradiction.b, contradiction.about

    async def judge(passages: Sequence[PassageRef]) -> tuple[DisputeSource, ...]:
        request = DisputeJudgeInput(first=a.quote, second=b.quote)
        output = await context.clients.models.ask(
            dispute_judge.ROLE, request, passages, summary=about, by_rule=not context.effort.judges_disputes
        )
        return output.found

    return Dispute(
        subject=a.quote,
        query=build_dispute_query(a.quote, b.quote, about),
        sources=(DisputeSource(citation=a, side="a"), DisputeSource(citation=b, side="b")),
        judge=judge,
    )


def _read_position(context: ReportContext, evidence: PositionEvidence) -> Dispute:
    async def judge(passages: Sequence[PassageRef]) -> tuple[DisputeSource, ...]:
        request = StanceJudgeInput(position=evidence.position)
        output = await context.clients.models.ask(
            stance_judge.ROLE,
            request,
            passages,
            summary=evidence.position,
            by_rule=not context.effort.judges_disputes,
        )
        return tuple(
            DisputeSource(citation=stance.citation, side=_SIDES[stance.side], found=True)
            for stance in output.stances
            if stance.citation is not None and stance.side in _SIDES
        )

    return Dispute(
        subject=evidence.position,
        query=build_dispute_query(evidence.position, evidence.position),
        sources=(
            *(DisputeSource(citation=sided.citation, side="a") for sided in evidence.supporting),
            *(DisputeSource(citation=sided.citation, side="b") for sided in evidence.contradicting),
        ),
        judge=judge,
        is_exclusive=False,
    )


async def _search(context: ReportContext, dispute: Dispute, number: int) -> tuple[PassageRef, ...] | str:
    """Search for a primary or newer source; return the reason if that is not possible."""
    if context.parent.is_finishing:
        return "the run was to finish"
    if number >= MAX_DISPUTES:
        return f"the run searches for {MAX_DISPUTES} disputes at most"
    phase: RunPhase = "reflect" if context.state.written_sections else "write"
    context.report_progress(phase, f"looking for a primary or newer source on “{dispute.subject[:120]}”")
    searches = context.clients.record.usage.searches
    search = SearchRequest(
        query=dispute.query,
        corpora=context.request.corpora,
        k=PASSAGES_PER_DISPUTE,
        max_per_source=MAX_PASSAGES_PER_SOURCE,
    )
    passages = await context.clients.knowledge.search(search)
    is_denied = context.clients.record.usage.searches == searches
    return "the budget allowed no further search" if is_denied else passages


async def _decide(context: ReportContext, dispute: Dispute, passages: tuple[PassageRef, ...] | str) -> DisputeOutcome:
    """Decide by the passages of the search; without a search the dispute stays open."""
    if isinstance(passages, str):
        reason = f"No primary or newer source was searched for: {passages}."
        return DisputeOutcome(status="not_searched", reason=reason, sources=dispute.sources)
    cited_sources = {source.citation.source for source in dispute.sources}
    further = [passage for passage in passages if passage.source not in cited_sources]
    judged = await dispute.judge(further) if further else ()
    sources = (*dispute.sources, *judged)
    cited = (source.citation.source for source in sources)
    compared = dict.fromkeys((*cited, *(passage.source for passage in further)))
    standings = await context.clients.execute_activity(
        KnowledgeActivities.compare_sources, tuple(compared), summary=dispute.subject
    )
    return decide_dispute(sources, standings, dispute.query, is_exclusive=dispute.is_exclusive)
