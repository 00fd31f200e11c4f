"""Requests and replies of role activities."""

from typing import Final, Generic, TypeVar

from pydantic import BaseModel

from tenure.contracts.base import Contract, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.run.budget import CallBudget

InputT = TypeVar("InputT", bound=BaseModel)
OutputT = TypeVar("OutputT", bound=BaseModel)


OFFLINE: Final = "offline"
"""Model name of an answer that the fallback gave; as a role's model, no model is asked."""

MAX_MODEL_TIMEOUT_SECONDS: Final = 1800
"""Upper bound of the timeout of a model call, whatever the settings say."""

DEFAULT_HEARTBEAT_SECONDS: Final = 30
"""Heartbeat timeout of the activities of a run, unless a worker's settings say otherwise. A server that restarts within
12 seconds was measured to accept the next heartbeat of a call in time; with 7 seconds, the call was repeated."""


class RoleRequest(Contract, Generic[InputT]):
    """Request to a role; evidence travels by reference."""

    input: InputT
    evidence: tuple[PassageRef, ...] = ()
    """Evidence, best first."""
    budget: CallBudget | None = None
    """Budget of the call; None if the run has no limits."""
    budget_exhausted: bool = False
    """Whether the run's budget is exhausted, so that the fallback answers."""
    by_rule: bool = False
    """Whether the fallback answers because a model would add nothing, which the report does not mention."""
    language: str = ""
    """Language of the output; empty for that of the question."""
    chat_model: str = ""
    """Chat model in place of that of the settings; empty for that."""
    fresh: bool = False
    """Whether the model has to answer even if it has answered the same request before."""


class TokenCounts(Contract):
    """Tokens of model answers, as the server counts them."""

    tokens_in: int = 0
    """Prompt tokens."""
    tokens_out: int = 0
    """Completion tokens."""
    tokens_cached: int = 0
    """Prompt tokens that the server had in its cache."""


class SavedUsage(Contract):
    """Usage of a model that was not needed, because its answers were cached."""

    answers: int = 0
    """Number of role calls that cached answers decided."""
    model_calls: int = 0
    """Number of model answers that these calls had taken."""
    tokens_in: int = 0
    """Prompt tokens of these answers."""
    tokens_out: int = 0
    """Completion tokens of these answers."""
    cost_usd: float | None = None
    """Cost of these answers in US dollars; None if a model has no known price."""


class RoleReply(TokenCounts, Generic[OutputT]):
    """Output of a role with its cost."""

    output: OutputT
    model: str
    """Model that answered; `offline` for the fallback."""
    model_calls: int = 0
    """Number of billed model answers, unusable ones included; 0 for the fallback alone."""
    cost_usd: float | None = None
    """Cost in US dollars; None if the model has no known price."""
    first_token_seconds: float | None = None
    """Time to the first token of the used answer; None if it was not streamed."""
    fallback_reason: str | None = None
    """Reason for the use of the fallback; None if the model answered."""
    saved: SavedUsage = SavedUsage()
    """Usage that a cached answer saved."""
    exposed: bool = False
    """Whether the prompt of the model contained instructions of an unknown author (prompt injection)."""
    suspicious_sources: tuple[SourceId, ...] = ()
    """Sources of the passages in the prompt that contain such instructions."""


class ModelAnswer(TokenCounts):
    """A billed model answer of a call, usable or not."""

    text: str = ""
    problem: str = ""
    """Reason for a missing text."""
    model: str = ""
    """Model as named by the server."""
    first_token_seconds: float | None = None
    """Time to the first token; None if it was not streamed."""


class StoredAnswer(TokenCounts):
    """A valid answer to a request, with the usage of all answers that led to it."""

    text: str
    model: str
    """Model as named by the server."""
    model_calls: int = 1
    """Number of billed answers, unusable ones included."""


class CallProgress(Contract):
    """Progress of a call, sent in heartbeats; shown to people, and the starting point of a retry."""

    tokens: int = 0
    """Approximate number of answer tokens received; the server counts them only at the end."""
    text: str = ""
    """Text of the answer received so far, if people may read it as it is."""
    response_id: str = ""
    """Id of the background response on the server; empty if there is none."""
    answers: tuple[ModelAnswer, ...] = ()
    """Answers received so far; those after an unusable one are repeated requests."""
