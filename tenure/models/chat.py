"""The chat model as the rest of the house sees it: one call, one completion, a small tree of errors.

    ModelError
    ├── TransportError      the call may succeed if made again: Temporal's to retry
    ├── RequestRejected     the same call will fail again: a person has to change something
    ├── ContextOverflow     the prompt is longer than the model reads: ask with less evidence
    └── UnusableAnswer      the model was reached and gave nothing to read: the twin answers

No error carries a key, and none chains to an error of the client library, which may quote one:
causes travel into the workflow history.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol

from tenure.roles.base import Message, O, Tier

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

    def __init__(self, reason: str, *, model: str = "", tokens_in: int = 0, tokens_out: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        """One phrase, fit for a report."""
        self.model = model
        """The model that answered, as the server names it."""
        self.tokens_in = tokens_in
        """Tokens of the prompt."""
        self.tokens_out = tokens_out
        """Tokens of the answer."""


@dataclass(frozen=True)
class Completion:
    """One answer of a chat model."""

    text: str
    """What it said; never blank."""
    model: str
    """The model that answered, as the server names it."""
    tokens_in: int
    """Tokens of the prompt, as billed."""
    tokens_out: int
    """Tokens of the answer, as billed."""
    finish: Finish = "stop"
    """How the answer ended."""


@dataclass(frozen=True)
class Answer(Generic[O]):
    """What a role decided, who decided it and what it took."""

    output: O
    """The decision."""
    model: str
    """The model that decided; `offline` for the twin."""
    tokens_in: int = 0
    """Prompt tokens over all attempts, those of unusable answers included."""
    tokens_out: int = 0
    """Answer tokens over all attempts."""
    degraded: str | None = None
    """Why the twin stood in for a configured model; None where it did not."""


class ChatModel(Protocol):
    """A chat back-end."""

    @property
    def name(self) -> str:
        """Name of the back-end, as reports show it."""
        ...

    async def complete(
        self, messages: Sequence[Message], *, tier: Tier, schema_name: str, schema: dict[str, Any]
    ) -> Completion:
        """Ask for one answer that follows a JSON schema as closely as the server can be made to.

        Raises:
            TransportError: where the same call may succeed later.
            RequestRejected: where it will not.
            ContextOverflow: where the prompt is too long.
            UnusableAnswer: where the answer holds nothing to read.
        """
        ...
