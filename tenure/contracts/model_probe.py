"""Results of the probe requests that `doctor` sends to the configured models."""

from typing import Literal

from tenure.contracts.base import Contract


class ModelProbe(Contract):
    """Result of a probe of one model."""

    model: str
    setting: str
    """Environment variable that selects the model."""
    problem: str = ""
    """Problem and its remedy, in one line; empty if the probe succeeded."""
    answered: bool = False
    """Whether the model answered at all, even if the answer was unusable."""
    seconds: float | None = None


class ChatProbe(ModelProbe):
    """Result of a probe of a chat model."""

    structured_output: Literal["json_schema", "json_object", "text"] | None = None
    """Enforcement of schemas by the server: strictly, as any JSON, or only through the prompt."""
    streams: bool = False
    first_token_seconds: float | None = None
    sees_pictures: bool | None = None
    """Whether it has read a number in a picture; None if it was not asked."""
    context_tokens: int | None = None
    """Size of the context window in tokens; None if the server does not report it."""


class EmbeddingProbe(ModelProbe):
    """Result of a probe of an embedding model."""

    dimensions: int | None = None
    """Length of its vectors."""
