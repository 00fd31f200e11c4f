"""The chat model as the rest of the house sees it: one call, one completion, a small tree of errors.

    ModelError
    ├── TransportError      the call may succeed if made again: Temporal's to retry
    ├── RequestRejected     the same call will fail again: a person has to change something
    ├── ContextOverflow     the prompt is longer than the model reads: ask with less evidence
    └── UnusableAnswer      the model was reached and gave nothing to read: the twin answers

No error carries a key, and none chains to an error of the client library, which may quote one:
causes travel into the workflow history.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol

from tenure.algorithms.control.budget import estimated_tokens
from tenure.contracts.run.budget import Price
from tenure.contracts.run.role_calls import PaidAnswer
from tenure.roles.base import Function, Message, O, Tier

Finish = Literal["stop", "tool_calls"]
"""How a usable answer ended; every other ending is an `UnusableAnswer`."""

OFFLINE = "offline"
"""Name of the model where a twin answers."""


class ModelError(Exception):
    """Base of everything that can go wrong between a role and its model."""


class TransportError(ModelError):
    """The server was not reached, was busy, or failed; the same call may succeed later."""

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status; None where no response arrived."""
        self.retry_after = retry_after
        """Seconds the server asked to wait; None where it did not say."""


class RequestRejected(ModelError):
    """The server understood and refused; asking again changes nothing."""

    def __init__(self, advice: str, *, status: int | None = None) -> None:
        super().__init__(advice)
        self.status = status
        """HTTP status; None where the refusal is our own."""
        self.advice = advice
        """One line that says what to fix."""


class ContextOverflow(ModelError):
    """The prompt does not fit the model's context window."""


class UnusableAnswer(ModelError):
    """The model answered, but not with anything a role can read; the tokens are paid all the same."""

    def __init__(self, reason: str, *, spent: "Spent | None" = None, model: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        """One phrase, fit for a report."""
        self.model = model
        """The model that answered, as the server names it."""
        self.spent = spent
        """What it cost; None where the server billed nothing."""


@dataclass(frozen=True)
class Spent:
    """What one answer cost, as the server reported it."""

    tokens_in: int = 0
    """Tokens of the prompt."""
    tokens_out: int = 0
    """Tokens of the answer, those of hidden reasoning included."""
    tokens_cached: int = 0
    """Tokens of the prompt that the server had in its cache."""


@dataclass(frozen=True)
class Completion:
    """One answer of a chat model."""

    text: str
    """What it said; never blank."""
    model: str
    """The model that answered, as the server names it."""
    spent: Spent
    """What it cost."""
    finish: Finish = "stop"
    """How the answer ended."""
    first_token_seconds: float | None = None
    """Time from the request to the first token; None where the answer came in one piece."""


@dataclass(frozen=True)
class Ask:
    """One question to a chat model."""

    role: str
    """The role that asks; also the schema's name."""
    tier: Tier
    """Which of the models is asked, where the settings name none for the role itself."""
    messages: tuple[Message, ...]
    """The prompt."""
    schema: dict[str, Any]
    """JSON schema of the answer."""
    streamed: bool = False
    """Whether the answer is long enough for people to watch it come in."""
    max_output: int | None = None
    """Tokens the answer may have, where a budget says so; a smaller figure of the settings counts more."""
    functions: tuple[Function, ...] = ()
    """Actions of which the answer is to call one, where the server can offer them; else the answer is an object."""
    plain: str = ""
    """The form of the answer in words, for a server that takes no schema; empty to show it the schema."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt, about; the schema is part of it."""
        declared = [function._asdict() for function in self.functions] or self.schema
        return sum(estimated_tokens(text) for text in (json.dumps(declared), *(m.content for m in self.messages)))


async def _at_once(call: "InFlight") -> None:
    """Keep nothing but the call itself, which is there at once."""


class InFlight:
    """A call while it runs: what has arrived of it, and what a later attempt of it goes on from.

    Args:
        answers: what an earlier attempt was answered and has paid.
        response: id of the background response that an earlier attempt had begun, empty for none.
        changed: told after every change.
        kept: told of a response's id, and back only when it is where the next attempt finds it; raises a
            `TransportError` where it cannot be brought there.
        abandoned: whether a call that is being cancelled is wanted by nobody any more; a worker that
            stops leaves its background response to the next one.
    """

    def __init__(
        self,
        answers: Sequence[PaidAnswer] = (),
        response: str = "",
        changed: Callable[["InFlight"], None] = lambda call: None,
        abandoned: Callable[[], bool] = lambda: True,
        kept: "Callable[[InFlight], Awaitable[None]]" = _at_once,
    ) -> None:
        self._kept = kept
        self.answers = list(answers)
        self.response = response
        self.abandoned = abandoned
        self.tokens = 0
        """Tokens of the answer that have arrived, about."""
        self._changed = changed
        self._read = 0

    def next_answer(self) -> PaidAnswer | None:
        """Return the next answer that is paid already, None where the model has to be asked."""
        if self._read == len(self.answers):
            return None
        self._read += 1
        return self.answers[self._read - 1]

    def answered(self, answer: PaidAnswer) -> None:
        """Keep an answer that has just been paid."""
        self.answers.append(answer)
        self._read = len(self.answers)
        self.response, self.tokens = "", 0
        self._changed(self)

    def arrived(self, tokens: int) -> None:
        """Note how many tokens of the answer are there."""
        self.tokens = tokens
        self._changed(self)

    async def begun(self, response: str) -> None:
        """Keep the id of a response that the server now makes in the background; empty where it is lost.

        Raises:
            TransportError: no later attempt would find it.
        """
        self.response = response
        await self._kept(self)


@dataclass(frozen=True)
class Answer(Generic[O]):
    """What a role decided, who decided it and what it took."""

    output: O
    """The decision."""
    model: str
    """The model that decided; `offline` for the twin."""
    model_calls: int = 0
    """Answers that were paid, unusable ones included."""
    spent: Spent = Spent()
    """What all of them cost."""
    cost_usd: float | None = None
    """The same in money; None where the model has no known price."""
    first_token_seconds: float | None = None
    """Time to the first token of the answer that was used; None where it was not streamed."""
    degraded: str | None = None
    """Why the twin stood in for a configured model; None where it did not."""
    prompt: tuple[Message, ...] = ()
    """What the model was asked, without the exchange about answers that did not fit; empty for the twin alone."""


class ChatModel(Protocol):
    """A chat back-end."""

    @property
    def name(self) -> str:
        """Name of the back-end, as reports show it."""
        ...

    def price(self, role: str, tier: Tier) -> Price | None:
        """Return the price of the model that answers a role; None where nobody has said it."""
        ...

    async def complete(self, ask: Ask, call: InFlight) -> Completion:
        """Ask for one answer that follows a JSON schema as closely as the server can be made to.

        Raises:
            TransportError: where the same call may succeed later.
            RequestRejected: where it will not.
            ContextOverflow: where the prompt is too long.
            UnusableAnswer: where the answer holds nothing to read.
        """
        ...
