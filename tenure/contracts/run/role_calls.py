"""Calls to roles: what every role activity takes and gives."""

from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import BaseModel

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.run.budget import Allowance

I = TypeVar("I", bound=BaseModel)  # noqa: E741 - I in, O out
O = TypeVar("O", bound=BaseModel)  # noqa: E741


LONGEST_ANSWER: Final = 1800
"""Seconds after which an answer of the model is given up, whatever the settings say."""


class Turn(Contract):
    """A turn of the conversation that a role has with its model over a whole run."""

    run: RunId
    """The run."""
    number: int
    """Which turn it is, from 0."""
    first: int = 0
    """The turn with which the present conversation began."""
    tokens: int = 0
    """Tokens that the last turn's prompt and answer had; about what is said again before this one."""

    def next(self, tokens: int) -> "Turn":
        """Return the turn after this one, whose prompt and answer had so many tokens."""
        return self.model_copy(update={"number": self.number + 1, "tokens": tokens})

    def anew(self) -> "Turn":
        """Return the same turn as the first of a new conversation."""
        return self.model_copy(update={"first": self.number, "tokens": 0})


class RoleCall(Contract, Generic[I]):
    """One question to one role; evidence travels by reference."""

    input: I
    """What is asked."""
    evidence: tuple[PassageRef, ...] = ()
    """What it may rest on, best first."""
    allowance: Allowance | None = None
    """What it may use; None where nothing limits the run."""
    spent: bool = False
    """Whether the run's budget is used up, so that the twin answers."""
    turn: Turn | None = None
    """Where in a conversation it stands; None for a question of its own."""
    language: str = ""
    """The language people want to read; empty for that of the question."""


class RoleReply(Contract, Generic[O]):
    """A role's answer and what it cost."""

    output: O
    """The answer."""
    model: str
    """Which model gave it; `offline` for the twin."""
    model_calls: int = 0
    """Answers of the model that were paid, re-asks and unusable ones included; 0 for the twin alone."""
    tokens_in: int = 0
    """Prompt tokens of all of them."""
    tokens_out: int = 0
    """Answer tokens of all of them."""
    tokens_cached: int = 0
    """Prompt tokens among them that the server had in its cache."""
    cost_usd: float | None = None
    """What they cost; None where the model has no known price."""
    first_token_seconds: float | None = None
    """Time from the request to the first token of the answer that was used; None where it was not streamed."""
    degraded: str | None = None
    """Why the twin stood in for the model; None where it did not."""


class PaidAnswer(Contract):
    """An answer of the model that a call has received and paid, whether it can be used or not."""

    text: str = ""
    """What it said."""
    problem: str = ""
    """Why it holds nothing to read, where it does not."""
    model: str = ""
    """The model, as the server names it."""
    tokens_in: int = 0
    """Prompt tokens."""
    tokens_out: int = 0
    """Answer tokens."""
    tokens_cached: int = 0
    """Prompt tokens among them that the server had in its cache."""
    first_token_seconds: float | None = None
    """Time to its first token; None where it was not streamed."""


class CallProgress(Contract):
    """How far a call is, in the details of its heartbeats: what people see, and what a later attempt goes on from."""

    role: str
    """The role that answers."""
    tokens: int = 0
    """Tokens of the answer that have arrived; about, since the server counts only at the end."""
    response: str = ""
    """Id of the response that the server makes in the background; empty where there is none."""
    answers: tuple[PaidAnswer, ...] = ()
    """Answers received so far, in order; what follows an unusable one is a re-ask."""


def role_call(input: I, evidence: Sequence[PassageRef] = (), **others: Any) -> RoleCall[I]:
    """Return a call of the concrete class: an open generic would lose the fields of its input on the way."""
    concrete = cast(type[RoleCall[I]], RoleCall.__class_getitem__(type(input)))
    return concrete(input=input, evidence=tuple(evidence), **others)


def role_reply(output: O, model: str, **used: Any) -> RoleReply[O]:
    """Return a reply of the concrete class; `used` are its other fields."""
    concrete = cast(type[RoleReply[O]], RoleReply.__class_getitem__(type(output)))
    return concrete(output=output, model=model, **used)
