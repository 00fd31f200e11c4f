"""The strategy `contrastive`: evidence for and against a position, labelled as such."""

import asyncio
from collections.abc import Sequence

from tenure.algorithms.retrieval.positions import choose_position
from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.disputes import PositionEvidence, SidedPassage
from tenure.contracts.evidence.passages import Citation, PassageRef
from tenure.contracts.evidence.retrieval import PassageSide, PassageStance, QueryPurpose
from tenure.roles.retrieval import stance_judge
from tenure.roles.retrieval.stance_judge import StanceJudgeInput
from workflows.research.search_session import SearchSession
from workflows.research.strategy import Strategy

MAX_JUDGED_PASSAGES = 12
"""Passages that a model labels."""
MAX_PASSAGES_PER_SIDE = 8
"""Passages of a side that are kept with their quotes; all passages keep their label."""


async def search_both_sides(session: SearchSession) -> None:
    """Search neutrally, then for supporting and for contradicting passages, and judge the best of them."""
    position = choose_position(session.task.step.query, session.task.question)
    (neutral,) = await session.search(session.task.step.query)
    if not session.is_stopped():
        purposes: tuple[QueryPurpose, ...] = ("supporting", "contradicting")
        queries = await asyncio.gather(*(session.refine_query(neutral, purpose, position) for purpose in purposes))
        await session.search(*filter(None, dict.fromkeys(queries)))
    await _judge_stances(session, position)


async def _judge_stances(session: SearchSession, position: str) -> None:
    """Have the best passages labelled as supporting, contradicting or neutral; keep both sides with their quotes."""
    passages = [retrieved.passage for retrieved in session.rank_passages()[:MAX_JUDGED_PASSAGES]]
    if not passages:
        return
    output = await session.clients.models.ask(
        stance_judge.ROLE,
        StanceJudgeInput(position=position),
        passages,
        summary=f"{position}, {len(passages)} passages",
    )
    if output.stances:
        quotes = _label_passages(session, passages, output.stances)
        session.positions = (_collect_sides(session, position, quotes),)


def _label_passages(
    session: SearchSession, passages: Sequence[PassageRef], stances: Sequence[PassageSide]
) -> dict[ChunkId, Citation]:
    """Label the judged passages; return the quotes of those that take a side."""
    judged = {stance.passage: stance for stance in stances}
    quotes: dict[ChunkId, Citation] = {}
    for number, chunk in enumerate((passage.chunk for passage in passages), 1):
        stance = judged.get(number, PassageSide(passage=number, side="neutral"))
        session.found[chunk] = session.found[chunk].model_copy(update={"stance": stance.side})
        if stance.citation is not None:
            quotes[chunk] = stance.citation
    return quotes


def _collect_sides(session: SearchSession, position: str, quotes: dict[ChunkId, Citation]) -> PositionEvidence:
    """Return the passages of both sides, best first."""
    ranked = session.rank_passages()

    def select(side: PassageStance) -> tuple[SidedPassage, ...]:
        chosen = [
            SidedPassage(passage=retrieved.passage, citation=quotes[retrieved.passage.chunk])
            for retrieved in ranked
            if retrieved.stance == side and retrieved.passage.chunk in quotes
        ]
        return tuple(chosen[:MAX_PASSAGES_PER_SIDE])

    return PositionEvidence(
        position=position,
        topic=session.task.step.topic,
        supporting=select("supporting"),
        contradicting=select("contradicting"),
        neutral=sum(retrieved.stance == "neutral" for retrieved in ranked),
    )


STRATEGY = Strategy("contrastive", "for and against, for a position that is contested", search_both_sides)
