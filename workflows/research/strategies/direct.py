"""The strategy `direct`: one search."""

from tenure.contracts.evidence.retrieval import RetrievalStopReason
from workflows.research.search_session import SearchSession, SessionQuery
from workflows.research.strategy import Strategy


async def search_once(session: SearchSession) -> RetrievalStopReason:
    """Search for the query of the task."""
    await session.search(SessionQuery(session.task.step.query))
    return "complete"


STRATEGY = Strategy("direct", "one search, for a plain question", search_once)
