"""The strategy `contrastive`: evidence for and against a position, labelled as such."""

import asyncio

from tenure.contracts.evidence.retrieval import PassageStance, QueryPurpose, RetrievalStopReason
from tenure.roles.retrieval import stance_judge
from tenure.roles.retrieval.stance_judge import StanceJudgeInput
from workflows.research.search_session import SearchSession, SessionQuery
from workflows.research.strategy import Strategy

JUDGED_PASSAGES_PER_CALL = 12
"""Passages that one call labels."""


async def search_both_sides(session: SearchSession) -> RetrievalStopReason:
    """Search neutrally, then for supporting and for contradicting passages, and judge all of them."""
    (neutral,) = await session.search(SessionQuery(session.task.step.query))
    if not session.is_stopped():
        purposes: tuple[QueryPurpose, ...] = ("supporting", "contradicting")
        queries = await asyncio.gather(*(session.refine_query(neutral, purpose) for purpose in purposes))
        new = [SessionQuery(query, 2) for query in dict.fromkeys(queries) if query]
        if new:
            await session.search(*new)
    await _judge_stances(session)
    return "stopped" if session.is_stopped() else "complete"


async def _judge_stances(session: SearchSession) -> None:
    """Label every passage as supporting, contradicting or neutral."""
    chunks = list(session.found)
    batches = [
        chunks[start : start + JUDGED_PASSAGES_PER_CALL] for start in range(0, len(chunks), JUDGED_PASSAGES_PER_CALL)
    ]
    outputs = await asyncio.gather(
        *(
            session.clients.models.ask(
                stance_judge.ROLE,
                StanceJudgeInput(position=session.task.step.query),
                [session.found[chunk].passage for chunk in batch],
                summary=f"{session.task.step.query}, {len(batch)} passages",
            )
            for batch in batches
        )
    )
    for batch, output in zip(batches, outputs, strict=True):
        stances: dict[int, PassageStance] = {stance.passage: stance.side for stance in output.stances}
        for number, chunk in enumerate(batch, 1):
            stance = stances.get(number, "neutral")
            session.found[chunk] = session.found[chunk].model_copy(update={"stance": stance})


STRATEGY = Strategy("contrastive", "for and against, for a position that is contested", search_both_sides)
