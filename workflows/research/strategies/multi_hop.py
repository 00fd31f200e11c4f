"""The strategy `multi_hop`: each search asks for what the one before has named."""

from tenure.algorithms.research.effort import has_converged
from tenure.contracts.base import ChunkId
from workflows.research.search_session import SearchSession
from workflows.research.strategy import Strategy


async def follow_hops(session: SearchSession) -> None:
    """Search hop by hop until the evidence is complete."""
    query, before = session.task.step.query, tuple[ChunkId, ...]()
    for hop in range(1, session.task.max_hops + 1):
        (passages,) = await session.search(query)
        now = tuple(passage.chunk for passage in passages)
        if not passages or has_converged(before, now) or session.is_stopped() or hop == session.task.max_hops:
            return
        before = now
        if not (query := await session.refine_query(passages, "next_hop")):
            return


STRATEGY = Strategy("multi_hop", "hop by hop, for a chain of facts", follow_hops)
