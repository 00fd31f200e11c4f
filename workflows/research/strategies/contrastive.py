"""The strategy `contrastive`: evidence for and against a position, labelled as such."""

import asyncio

from tenure.algorithms.retrieval.positions import choose_position
from tenure.contracts.evidence.disputes import PositionEvidence, SidedPassage
from tenure.contracts.evidence.retrieval import PassageSide, PassageStance, QueryPurpose
from tenure.roles.retrieval import stance_judge
from tenure.roles.retrieval.stance_judge import StanceJudgeInput
from workflows.research.search_session import SearchSession
from workflows.research.strategy import Strategy

MAX_JUDGED_PASSAGES = 12
"""Passages that a model labels."""
MAX_PASSAGES_PER_SIDE = 8
"""Passages of a side that are kept with their quotes."""


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
    if not output.stances:
        return
    judged = {stance.passage: stance for stance in output.stances}
    neutral = PassageSide(passage=1, side="neutral")
    sides = [(passage, judged.get(number, neutral)) for number, passage in enumerate(passages, 1)]

    def select(side: PassageStance) -> tuple[SidedPassage, ...]:
        # Two versions of a page say the same in the same words: that is one argument.
        chosen: dict[str, SidedPassage] = {}
        for passage, stance in sides:
            if stance.side == side and stance.citation is not None:
                chosen.setdefault(stance.citation.quote, SidedPassage(passage=passage, citation=stance.citation))
        return tuple(chosen.values())[:MAX_PASSAGES_PER_SIDE]

    evidence = PositionEvidence(
        position=position,
        topic=session.task.step.topic,
        supporting=select("supporting"),
        contradicting=select("contradicting"),
        neutral=sum(stance.side == "neutral" for _, stance in sides),
    )
    session.positions = (evidence,)


STRATEGY = Strategy("contrastive", "for and against, for a position that is contested", search_both_sides)
