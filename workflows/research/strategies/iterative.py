"""The strategy `iterative`: the question in other words until the best passages stay the same."""

from tenure.algorithms.research.effort import has_converged
from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.retrieval import RetrievalStopReason
from workflows.research.search_session import SearchSession, SessionQuery
from workflows.research.strategy import Strategy

MAX_ROUNDS = 5
"""Searches of one task; with a model, every search after the first costs a call, so the effort limits them."""
TOP_PASSAGES = 5
"""Best passages that must stay the same for the search to have converged."""


async def search_in_rounds(session: SearchSession) -> RetrievalStopReason:
    """Search round by round, each with a reworded query."""
    query, best = session.task.step.query, tuple[ChunkId, ...]()
    max_rounds = min(MAX_ROUNDS, session.task.max_hops) if session.task.limits.has_model else MAX_ROUNDS
    for number in range(1, max_rounds + 1):
        before, known = best, len(session.found)
        await session.search(SessionQuery(query, number))
        ranked = [retrieved.passage for retrieved in session.rank_passages()]
        best = tuple(passage.chunk for passage in ranked[:TOP_PASSAGES])
        if len(session.found) == known:
            return "nothing_new"
        if has_converged(before, best):
            return "converged"
        if session.is_stopped():
            return "stopped"
        if number < max_rounds and not (query := await session.refine_query(ranked, "reword")):
            return "complete"
    return "limit_reached"


STRATEGY = Strategy("iterative", "several wordings, for an answer in unknown words", search_in_rounds)
