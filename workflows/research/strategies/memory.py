"""The strategy `memory`: queries and passages of earlier runs lead the search."""

from activities.knowledge import KnowledgeActivities
from tenure.algorithms.research.planning import is_same_query
from tenure.contracts.evidence.retrieval import RecallRequest
from workflows.research.search_session import PASSAGES_PER_SEARCH, SearchSession
from workflows.research.strategy import Strategy

MAX_REPEATED_QUERIES = 2
"""Queries of earlier runs that are made again."""


async def search_with_memory(session: SearchSession) -> None:
    """Search without what this run accepted already, and add what earlier runs accepted nearby."""
    task = session.task
    recalled = await session.clients.execute_activity(
        KnowledgeActivities.recall_findings,
        RecallRequest(
            query=task.step.query,
            run=task.run,
            corpora=task.corpora,
            filters=task.limits.filters,
            min_relevance=task.limits.min_relevance,
            limit=PASSAGES_PER_SEARCH,
        ),
        summary=task.step.query,
    )
    session.known = frozenset(recalled.known)
    helpful = [query for query in recalled.queries if not is_same_query(query, task.step.query)][:MAX_REPEATED_QUERIES]
    await session.search(task.step.query, *helpful)
    session.add_passages(recalled.passages, task.step.query)


STRATEGY = Strategy("memory", "led by what earlier research on these corpora has accepted", search_with_memory)
