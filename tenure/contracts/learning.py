"""What earlier runs have taught: how their strategies went, and what of theirs a related run begins with."""

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.retrieval import Strategy
from tenure.contracts.run import QueryType


class Trial(Contract):
    """How a strategy went for a question."""

    question: str
    """The question; asked again and again, it counts once."""
    kind: QueryType
    """Its type."""
    strategy: Strategy
    """How was searched for it."""
    score: float = Field(ge=0, le=1)
    """How well that went."""


class Record(Contract):
    """How often a strategy was tried for questions of a type, and how well that went."""

    kind: QueryType
    """The type."""
    strategy: Strategy
    """The strategy."""
    trials: int = Field(ge=1)
    """Questions it was tried for."""
    won: float = Field(ge=0)
    """The sum of its scores, each from 0 to 1."""
