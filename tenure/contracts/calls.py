"""Calls to roles: what every role activity takes and gives."""

from collections.abc import Sequence
from typing import Generic, TypeVar, cast

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


def role_call(input: I, evidence: Sequence[PassageRef] = ()) -> RoleCall[I]:
    """Return a call of the concrete class: an open generic would lose the fields of its input on the way."""
    concrete = cast(type[RoleCall[I]], RoleCall.__class_getitem__(type(input)))
    return concrete(input=input, evidence=tuple(evidence))


def role_reply(
    output: O, model: str, tokens_in: int = 0, tokens_out: int = 0, degraded: str | None = None
) -> RoleReply[O]:
    """Return a reply of the concrete class."""
    concrete = cast(type[RoleReply[O]], RoleReply.__class_getitem__(type(output)))
    return concrete(output=output, model=model, tokens_in=tokens_in, tokens_out=tokens_out, degraded=degraded)
