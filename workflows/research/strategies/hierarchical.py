"""The strategy `hierarchical`: a broad search, then one search for each group of its passages."""

import asyncio

from activities.knowledge import KnowledgeActivities
from tenure.contracts.evidence.retrieval import GroupRequest
from workflows.research.search_session import SearchSession
from workflows.research.strategy import Strategy

PASSAGES_OF_BROAD_SEARCH = 24
PASSAGES_OF_CLOSE_SEARCH = 6
MAX_GROUPS = 3
"""Groups that get a search of their own."""


async def search_by_groups(session: SearchSession) -> None:
    """Search broadly, group what is found, and search each group with a query of its own."""
    question = session.task.step.query
    (broad,) = await session.search(question, k=PASSAGES_OF_BROAD_SEARCH)
    if not broad or session.is_stopped():
        return
    groups = await session.clients.execute_activity(
        KnowledgeActivities.group_passages,
        GroupRequest(passages=broad, max_groups=MAX_GROUPS),
        summary=f"{len(broad)} passages for {question}",
    )
    queries = await asyncio.gather(*(session.refine_query(group, "narrow") for group in groups))
    await session.search(*filter(None, dict.fromkeys(queries)), k=PASSAGES_OF_CLOSE_SEARCH)


STRATEGY = Strategy("hierarchical", "broadly and then group by group, for a broad subject", search_by_groups)
