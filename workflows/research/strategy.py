"""A retrieval strategy: how one task searches, and how the planner reads of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from workflows.research.search_session import SearchSession


@dataclass(frozen=True)
class Strategy:
    """One strategy; a module of `workflows.research.strategies` defines it as `STRATEGY`."""

    name: str
    """Its name: that of its module."""
    description: str
    """Way to search and suitable queries, as the planner reads them."""
    search: Callable[[SearchSession], Awaitable[None]]
    """Function that searches through a session."""
