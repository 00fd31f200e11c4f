"""The strategy `iterative`: the question in other words until the best passages stay the same."""

from tenure.algorithms.research.effort import has_converged
from tenure.contracts.base import ChunkId
from workflows.research.search_session import SearchSession
from workflows.research.strategy import Strategy

MAX_ROUNDS = 5
"""Searches of one task; with a model, every search after the first costs a call, so the effort limits them."""
TOP_PASSAGES = 5
"""Best passages that must stay the same for the search to have converged."""


async def search_in_rounds(session: SearchSession) -> None:
    """Search round by round, each with a reworded query."""
    query, best = session.task.step.query, tuple[ChunkId, ...]()
    max_rounds = min(MAX_ROUNDS, session.task.max_hops) if session.task.limits.has_model else MAX_ROUNDS
    for number in range(1, max_rounds + 1):
        before, count = best, len(session.found)
        await session.search(query)
        ranked = [retrieved.passage for retrieved in session.rank_passages()]
        best = tuple(passage.chunk for passage in ranked[:TOP_PASSAGES])
        if len(session.found) == count or has_converged(before, best) or session.is_stopped() or number == max_rounds:
            return
        if not (query := await session.refine_query(ranked, "reword")):
            return


STRATEGY = Strategy("iterative", "several wordings, for an answer in unknown words", search_in_rounds)
