"""The strategy `multi_hop`: each search asks for what the one before has named."""

from tenure.algorithms.research.effort import has_converged
from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.retrieval import RetrievalStopReason
from workflows.research.search_session import SearchSession, SessionQuery
from workflows.research.strategy import Strategy


async def follow_hops(session: SearchSession) -> RetrievalStopReason:
    """Search hop by hop until the evidence is complete."""
    query, before = session.task.step.query, tuple[ChunkId, ...]()
    for hop in range(1, session.task.max_hops + 1):
        (passages,) = await session.search(SessionQuery(query, hop))
        now = tuple(passage.chunk for passage in passages)
        if not passages:
            return "nothing_new"
        if has_converged(before, now):
            return "converged"
        if session.is_stopped():
            return "stopped"
        before = now
        if hop < session.task.max_hops and not (query := await session.refine_query(passages, "next_hop")):
            return "complete"
    return "limit_reached"


STRATEGY = Strategy("multi_hop", "hop by hop, for a chain of facts", follow_hops)
