"""Define the interface of a chat model: one request, one completion, and the state of the call between attempts.

The errors of a call are in `tenure.models.errors`.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from tenure.algorithms.control.budget import MAX_IMAGE_TOKENS, estimate_tokens
from tenure.contracts.messages import Message, Tier
from tenure.contracts.run.budget import Price
from tenure.contracts.run.role_calls import ModelAnswer
from tenure.models.errors import TransportError
from tenure.models.usage import TokenUsage


@dataclass(frozen=True)
class Completion:
    """One answer of a chat model."""

    text: str
    model: str
    """Model that answered, as the server names it."""
    usage: TokenUsage
    first_token_seconds: float | None = None
    """Time from the request to the first token; None if the answer was not streamed."""


@dataclass(frozen=True)
class ChatRequest:
    """One request to a chat model."""

    role: str
    """Role that asks; also the name of the schema."""
    tier: Tier
    """Model tier, used if the settings name no model for the role."""
    messages: tuple[Message, ...]
    schema: dict[str, Any] | None
    """JSON schema of the answer; None for an answer in free text."""
    streamed: bool = False
    """Whether the answer is long enough to be streamed."""
    max_output: int | None = None
    """Limit of the answer in tokens, set by a budget; a smaller limit of the settings takes precedence."""
    answer_tokens: int | None = None
    """Tokens of the longest answer that fits; the limit if the settings have none, without hidden reasoning."""

    @property
    def prompt_tokens(self) -> int:
        """Estimated tokens of the prompt, including the schema."""
        schema = json.dumps(self.schema) if self.schema else ""
        text = sum(estimate_tokens(text) for text in (schema, *(message.content for message in self.messages)))
        return text + MAX_IMAGE_TOKENS * sum(len(message.images) for message in self.messages)

    @property
    def has_images(self) -> bool:
        """Whether the model is shown pictures."""
        return any(message.images for message in self.messages)


class PartialAnswer(NamedTuple):
    """The part of an answer that has been received."""

    tokens: int = 0
    """Estimated number of all tokens."""
    text: str = ""
    """Content, without reasoning and calls of functions."""


async def _skip_saving(call: "ModelCall") -> None:
    """Save nothing: the attribute of the call is enough."""


class ModelCall:
    """State of a running call: the progress of the answer, and the data from which a later attempt resumes.

    Args:
        answers: answers that an earlier attempt received and paid for.
        response_id: id of the background response that an earlier attempt started; empty for none.
        on_save: callback that stores the state and returns only when the next attempt will find it; raises
            `TransportError` if it cannot be stored.
        is_abandoned: whether no later attempt follows a cancelled call; a worker that stops leaves its background
            response to the next worker.
    """

    def __init__(
        self,
        answers: Sequence[ModelAnswer] = (),
        response_id: str = "",
        is_abandoned: Callable[[], bool] = lambda: True,
        on_save: "Callable[[ModelCall], Awaitable[None]]" = _skip_saving,
    ) -> None:
        self._on_save = on_save
        self.answers = list(answers)
        self.response_id = response_id
        self.is_abandoned = is_abandoned
        self.read_partial: Callable[[], PartialAnswer] = PartialAnswer
        """Function that returns the received part of the answer that is arriving; the back-end sets it."""
        self._position = 0
        self._saved_answers = len(self.answers)

    def replay_answer(self) -> ModelAnswer | None:
        """Return the next answer that is already paid, or None if the model has to be asked."""
        if self._position == len(self.answers):
            return None
        self._position += 1
        return self.answers[self._position - 1]

    def record_answer(self, answer: ModelAnswer) -> None:
        """Store an answer that has just been paid."""
        self.answers.append(answer)
        self._position = len(self.answers)
        self.response_id, self.read_partial = "", PartialAnswer

    async def save_answers(self) -> None:
        """Store the paid answers before the model is asked for another one."""
        if self._saved_answers < len(self.answers):
            self._saved_answers = len(self.answers)
            # Without an answer of the server within seconds, the next heartbeat that arrives contains them.
            with suppress(TransportError):
                await self._on_save(self)

    async def save_response_id(self, response_id: str) -> None:
        """Store the id of a response that the server creates in the background; empty if the response is lost.

        Raises:
            TransportError: no later attempt would find the id.
        """
        self.response_id = response_id
        await self._on_save(self)


class ChatModel(Protocol):
    """Interface of a chat back-end."""

    @property
    def name(self) -> str:
        """Name of the back-end in reports."""

    def get_price(self, role: str, tier: Tier) -> Price | None:
        """Return the price of the model that answers a role, or None if it is unknown."""

    async def complete(self, request: ChatRequest, call: ModelCall) -> Completion:
        """Request one answer that follows a JSON schema as closely as the server can enforce it.

        Raises:
            TransportError: the same call may succeed later.
            RequestRejected: the same call will fail again.
            ContextOverflow: the prompt is too long.
            UnusableAnswer: the answer contains nothing to parse.
        """
