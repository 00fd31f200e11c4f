"""Calls to roles: what every role activity takes and gives."""

from typing import Generic, TypeVar

from pydantic import BaseModel

from tenure.contracts.base import Contract
from tenure.contracts.evidence import PassageRef

I = TypeVar("I", bound=BaseModel)  # noqa: E741 - I in, O out
O = TypeVar("O", bound=BaseModel)  # noqa: E741


class RoleCall(Contract, Generic[I]):
    """One question to one role; evidence travels by reference."""

    input: I
    """What is asked."""
    evidence: tuple[PassageRef, ...] = ()
    """What it may rest on, best first."""


class RoleReply(Contract, Generic[O]):
    """A role's answer and what it cost."""

    output: O
    """The answer."""
    model: str
    """Which model gave it; `offline` for the twin."""
    tokens_in: int = 0
    """Prompt tokens, re-asks included."""
    tokens_out: int = 0
    """Completion tokens, re-asks included."""
    degraded: str | None = None
    """Why the twin stood in for the model; None where it did not."""
