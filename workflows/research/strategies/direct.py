"""The strategy `direct`: one search."""

from workflows.research.search_session import SearchSession
from workflows.research.strategy import Strategy


async def search_once(session: SearchSession) -> None:
    """Search for the query of the task."""
    await session.search(session.task.step.query)


STRATEGY = Strategy("direct", "one search, for a plain question", search_once)
